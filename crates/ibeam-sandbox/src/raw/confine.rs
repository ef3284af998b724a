//! The system calls of namespaces and mounts that rustix has not.

use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};

use rustix::io::Errno;
use rustix::mount::MountAttrFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::last_error;

/// Adds attributes to a mount and to all that are mounted below it.
pub(crate) fn set_mount_attributes(mount: BorrowedFd<'_>, attributes: MountAttrFlags) -> Result<(), Errno> {
    let wanted =
        libc::mount_attr { attr_set: attributes.bits().into(), attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: the path and the structure are read only, and the size is that of the structure.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
            &raw const wanted,
            size_of::<libc::mount_attr>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(last_error()) }
}

/// Switches the loopback interface of this network on.
pub(crate) fn raise_loopback() -> Result<(), Errno> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let mut name = [0; libc::IFNAMSIZ];
    for (place, byte) in name.iter_mut().zip(*b"lo") {
        // Signed on some machines and not on others.
        *place = byte as libc::c_char;
    }
    let flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    let request =
        libc::ifreq { ifr_name: name, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: flags } };
    // SAFETY: the structure is one that this request reads; the name ends with NUL.
    let done = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if done == 0 { Ok(()) } else { Err(last_error()) }
}
