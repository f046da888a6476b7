//! The headers of a request, looked up by name.

use hyper::HeaderMap;

/// The headers of a request.
#[derive(Clone, Copy)]
pub(crate) struct Headers<'h>(pub(crate) &'h HeaderMap);

impl<'h> Headers<'h> {
    pub(crate) fn all(self, name: &str) -> impl Iterator<Item = &'h [u8]> + use<'h> {
        self.0.get_all(name).iter().map(|value| value.as_bytes().trim_ascii())
    }

    /// The value, if the header is there exactly once.
    pub(crate) fn only(self, name: &str) -> Option<&'h [u8]> {
        let mut all = self.all(name);
        let first = all.next()?;
        all.next().is_none().then_some(first)
    }

    /// The values of a comma-separated list, spread over any number of headers.
    pub(crate) fn list(self, name: &str) -> impl Iterator<Item = &'h [u8]> + use<'h> {
        self.all(name).flat_map(|value| value.split(|&byte| byte == b',')).map(<[u8]>::trim_ascii)
    }

    pub(crate) fn lists(self, name: &str, wanted: &str) -> bool {
        self.list(name).any(|value| value.eq_ignore_ascii_case(wanted.as_bytes()))
    }
}
