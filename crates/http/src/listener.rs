//! Ports to listen on.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};

/// Time for an answer whether somebody listens, from this machine.
const PROBE: Duration = Duration::from_millis(100);
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;

/// Binds the first available port.
///
/// # Errors
/// Why none is available.
pub fn bind(host: &str, ports: impl IntoIterator<Item = u16>) -> io::Result<TcpListener> {
    let mut failure = io::Error::new(ErrorKind::InvalidInput, "the range of ports is empty");
    for port in ports {
        let addresses: Vec<_> = (host, port).to_socket_addrs()?.collect();
        match listen(&addresses) {
            Ok(listener) => return Ok(listener),
            Err(error) if matches!(error.kind(), ErrorKind::AddrInUse | ErrorKind::PermissionDenied) => failure = error,
            Err(error) => return Err(error),
        }
    }
    Err(failure)
}

/// Listens on the first of these addresses that is free, or held for this user.
fn listen(addresses: &[SocketAddr]) -> io::Result<TcpListener> {
    let mut failure = io::Error::new(ErrorKind::InvalidInput, "the host has no address");
    for address in addresses {
        let listening = match TcpListener::bind(address) {
            Err(taken) if taken.kind() == ErrorKind::AddrInUse && !is_listened_on(*address) => take_over(*address),
            outcome => outcome,
        };
        match listening {
            Ok(listener) => {
                listener.set_nonblocking(true)?;
                return Ok(listener);
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Whether a process listens there. One that holds the port does not.
fn is_listened_on(address: SocketAddr) -> bool {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    TcpStream::connect_timeout(&SocketAddr::new(ip, address.port()), PROBE).is_ok()
}

/// Listens on a port that [`hold`] holds.
fn take_over(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = shared(address)?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// A socket at an address that other sockets of this user have: by SO_REUSEPORT those that are to share it, by
/// SO_REUSEADDR connections that are about to end.
fn shared(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Keeps other users from a port after this process has ended: another process holds it, and does not listen.
/// [`bind`] takes it all the same, also while copies of the listener are open: this process takes its time to end.
///
/// # Errors
/// The system refuses.
pub fn hold(listener: TcpListener, time: Duration) -> io::Result<()> {
    let address = listener.local_addr()?;
    SockRef::from(&listener).set_reuse_port(true)?;
    let socket = shared(address)?;
    // By SO_REUSEADDR another user's socket could share a port that nothing listens on.
    socket.set_reuse_address(false)?;
    let mut sleep = Command::new("sleep");
    sleep.arg(time.as_secs().to_string()).current_dir("/").process_group(0);
    sleep.stdin(OwnedFd::from(socket)).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    // Linux ends the listening of all copies. macOS has no such call, and says so.
    SockRef::from(&listener).shutdown(Shutdown::Both).or_else(|error| match error.kind() {
        ErrorKind::NotConnected => Ok(()),
        _ => Err(error),
    })
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

    #[test]
    fn a_port_that_is_held_is_closed_to_others_and_can_be_taken_again() {
        let listener = bind("127.0.0.1", [0]).unwrap();
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(false).unwrap();
        let client = TcpStream::connect(address).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        drop(accepted); // its end stays with the port for a minute
        // A process that ends, or one that has just been started, closes its copy later.
        let copy = listener.try_clone().unwrap();
        hold(listener, Duration::from_secs(2)).unwrap();
        drop(client);
        // So is it for other users, whatever they set.
        assert_eq!(TcpListener::bind(address).unwrap_err().kind(), ErrorKind::AddrInUse);
        assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        let again = bind("127.0.0.1", [address.port()]).unwrap();
        assert!(TcpStream::connect(address).is_ok());
        assert_eq!(bind("127.0.0.1", [address.port()]).unwrap_err().kind(), ErrorKind::AddrInUse);
        drop((again, copy));
    }
}
