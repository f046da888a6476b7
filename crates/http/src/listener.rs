//! Ports to listen on.

use std::io::{self, ErrorKind};
use std::net::{TcpListener, ToSocketAddrs as _};

/// Binds the first available port.
///
/// # Errors
/// Why none is available.
pub fn bind(host: &str, ports: impl IntoIterator<Item = u16>) -> io::Result<TcpListener> {
    let mut failure = io::Error::new(ErrorKind::InvalidInput, "the range of ports is empty");
    for port in ports {
        let addresses: Vec<_> = (host, port).to_socket_addrs()?.collect();
        match TcpListener::bind(addresses.as_slice()) {
            Ok(listener) => {
                listener.set_nonblocking(true)?;
                return Ok(listener);
            }
            Err(error) if matches!(error.kind(), ErrorKind::AddrInUse | ErrorKind::PermissionDenied) => failure = error,
            Err(error) => return Err(error),
        }
    }
    Err(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_first_port_that_is_free() {
        let first = bind("127.0.0.1", [0]).unwrap();
        let taken = first.local_addr().unwrap().port();
        assert_eq!(bind("127.0.0.1", [taken]).unwrap_err().kind(), ErrorKind::AddrInUse);
        assert_ne!(bind("127.0.0.1", [taken, 0]).unwrap().local_addr().unwrap().port(), taken);
        assert!(bind("127.0.0.1", []).is_err());
        assert!(bind("no such host", [0]).is_err());
    }
}
