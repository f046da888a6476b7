//! Builds messages to a peer.

use serde::Serialize;

use super::{ErrorObject, RequestId};

#[derive(Serialize)]
struct ResultEnvelope<'a, R: ?Sized> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: &'a R,
}

#[derive(Serialize)]
struct ErrorEnvelope<'a> {
    jsonrpc: &'static str,
    id: Option<&'a RequestId>,
    error: &'a ErrorObject,
}

#[derive(Serialize)]
struct MethodEnvelope<'a, P: ?Sized> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a P>,
}

/// A successful response.
///
/// # Errors
/// `result` does not serialise.
pub fn result<R: Serialize + ?Sized>(id: &RequestId, result: &R) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&ResultEnvelope { jsonrpc: "2.0", id, result })
}

/// A response with an error; without an id if the request's could not be read.
///
/// # Errors
/// Never in practice: all of it serialises.
pub fn error(id: Option<&RequestId>, error: &ErrorObject) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&ErrorEnvelope { jsonrpc: "2.0", id, error })
}

/// A request.
///
/// # Errors
/// `params` does not serialise.
pub fn request<P: Serialize + ?Sized>(id: u64, method: &str, params: Option<&P>) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&MethodEnvelope { jsonrpc: "2.0", id: Some(id), method, params })
}

/// A notification.
///
/// # Errors
/// `params` does not serialise.
pub fn notification<P: Serialize + ?Sized>(method: &str, params: Option<&P>) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&MethodEnvelope { jsonrpc: "2.0", id: None, method, params })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::ErrorCode;

    #[test]
    fn outgoing_messages_have_only_the_members_they_need() {
        let text = |bytes: serde_json::Result<Vec<u8>>| String::from_utf8(bytes.unwrap()).unwrap();
        assert_eq!(text(request(7, "ping", None::<&()>)), r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#);
        assert_eq!(text(notification("x", Some(&[1]))), r#"{"jsonrpc":"2.0","method":"x","params":[1]}"#);
        let busy = ErrorObject { code: ErrorCode::Busy, message: "later".into() };
        assert_eq!(
            text(error(None, &busy)),
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"later"}}"#
        );
    }
}
