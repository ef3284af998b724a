//! Applies a [`MountPlan`] in the child.
//!
//! Uses only system calls and the stack. Paths are opened without following links, so that the resolved paths are the
//! mounted ones. An error ends the child where safety depends on the step: writable directories, the read-only root,
//! `/proc`, tmpfs mounts, pinned paths. A missing device or hidden path is not an error.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, symlinkat};
use rustix::io::Errno;
use rustix::mount::{
    MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change,
    move_mount, open_tree,
};
use rustix::process::umask;

use crate::mount_plan::{
    BindKind, EMPTY_DIR, EMPTY_FILE, MaskedPath, MountPlan, PinnedMount, ProcessVisibility, TmpfsEntry,
};
use crate::raw;
use crate::setup_step::SetupStep;

/// Maximum number of bind mounts; a user adds some directories, not a hundred.
const MAX_BIND_MOUNTS: usize = 128;
/// Attributes of every mount that commands see, except harmless devices.
const SAFE_ATTRIBUTES: MountAttrFlags =
    MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV);
const READ_ONLY_ATTRIBUTES: MountAttrFlags = SAFE_ATTRIBUTES.union(MountAttrFlags::MOUNT_ATTR_RDONLY);

/// Mounts the view, in the mount namespace of this process.
pub(crate) fn apply(plan: &MountPlan, last_pid: &str) -> Result<(), (SetupStep, Errno)> {
    mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(at_step(SetupStep::Propagation))?;
    let mut clones = [const { None::<OwnedFd> }; MAX_BIND_MOUNTS];
    if plan.bind_mounts.len() > MAX_BIND_MOUNTS {
        return Err((SetupStep::Writable, Errno::TOOBIG));
    }
    for (slot, bind) in clones.iter_mut().zip(&plan.bind_mounts) {
        let attributes = match bind.kind {
            BindKind::Writable => SAFE_ATTRIBUTES,
            BindKind::ReadOnly => READ_ONLY_ATTRIBUTES,
            BindKind::Device => MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC,
        };
        *slot = match (clone_mount(&bind.path, attributes), bind.kind) {
            (Ok(tree), _) => Some(tree),
            // Commands have fewer privileges, so they cannot reach the directory either and get an error.
            (Err(Errno::NOENT | Errno::ACCESS), BindKind::Writable) => None,
            (Err(errno), BindKind::Writable) => return Err((SetupStep::Writable, errno)),
            (Err(_), BindKind::ReadOnly | BindKind::Device) => None,
        };
    }
    if plan.visibility == ProcessVisibility::OwnNamespaceSharedProc {
        set_last_pid(last_pid);
    }
    make_read_only(plan).map_err(at_step(SetupStep::ReadOnlyRoot))?;
    if plan.visibility == ProcessVisibility::OwnNamespace {
        mount_own_proc(last_pid).map_err(at_step(SetupStep::Proc))?;
    }
    let tmpfs = mount_overmounts(plan).map_err(at_step(SetupStep::Overmount))?;
    for other in &plan.other_processes {
        match mask(tmpfs.as_fd(), other, true) {
            // The process has ended.
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::SRCH) => {}
            Err(errno) => return Err((SetupStep::Proc, errno)),
        }
    }
    for (tree, bind) in clones.iter().zip(&plan.bind_mounts) {
        let Some(tree) = tree else { continue };
        match (attach(tree.as_fd(), &bind.path), bind.kind) {
            (Ok(()), _) | (Err(_), BindKind::ReadOnly | BindKind::Device) => {}
            (Err(errno), BindKind::Writable) => return Err((SetupStep::Writable, errno)),
        }
    }
    for PinnedMount { path, read_only } in &plan.pinned {
        match pin(path, *read_only) {
            Ok(()) | Err(Errno::NOENT | Errno::ACCESS) => {}
            Err(errno) => return Err((SetupStep::Pin, errno)),
        }
    }
    for MaskedPath { path, is_directory } in &plan.masked {
        match mask(tmpfs.as_fd(), path, *is_directory) {
            // The system already denies access.
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => {}
            Err(errno) => return Err((SetupStep::Mask, errno)),
        }
    }
    Ok(())
}

/// Returns a function that adds the failed step to an error.
fn at_step(step: SetupStep) -> impl Fn(Errno) -> (SetupStep, Errno) {
    move |errno| (step, errno)
}

/// Makes everything read-only that the plan does not keep writable.
fn make_read_only(plan: &MountPlan) -> Result<(), Errno> {
    let root = open_path(c"/")?;
    raw::set_mount_attributes(
        root.as_fd(),
        if plan.read_only_root { READ_ONLY_ATTRIBUTES } else { SAFE_ATTRIBUTES },
    )?;
    plan.read_only_system.iter().try_for_each(|path| pin(path, true))
}

fn mount_own_proc(last_pid: &str) -> Result<(), Errno> {
    mount(c"proc", c"/proc", c"proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)?;
    set_last_pid(last_pid);
    raw::set_mount_attributes(
        open_path(c"/proc")?.as_fd(),
        READ_ONLY_ATTRIBUTES | MountAttrFlags::MOUNT_ATTR_NOEXEC,
    )
}

/// Sets the last used pid of this pid namespace, because programs name files by their process id and two simultaneous
/// runs must not use the same ids. If the system refuses this, pids begin at 1.
fn set_last_pid(last_pid: &str) {
    if let Ok(file) =
        openat(CWD, c"/proc/sys/kernel/ns_last_pid", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
    {
        let _ = rustix::io::write(file, last_pid.as_bytes());
    }
}

/// Mounts the tmpfs directories. Returns the root of the tmpfs, which is not reachable by a path.
fn mount_overmounts(plan: &MountPlan) -> Result<OwnedFd, Errno> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount(c"tmpfs", c"/dev", c"tmpfs", flags, Some(plan.tmpfs_options.as_c_str()))?;
    let tmpfs = open_path(c"/dev")?;
    let old_umask = umask(Mode::empty());
    let created = plan.tmpfs_entries.iter().try_for_each(|entry| match create_entry(tmpfs.as_fd(), entry) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno),
    });
    umask(old_umask);
    created?;
    for overmount in &plan.overmounts {
        let tree = clone_tree(tmpfs.as_fd(), &overmount.name)?;
        raw::set_mount_attributes(
            tree.as_fd(),
            if overmount.read_only { READ_ONLY_ATTRIBUTES } else { SAFE_ATTRIBUTES },
        )?;
        attach(tree.as_fd(), &overmount.path)?;
    }
    // Without devpts, commands have no terminals.
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let _ = mount(c"devpts", c"/dev/pts", c"devpts", flags, Some(c"newinstance,ptmxmode=0666,mode=0620"));
    Ok(tmpfs)
}

fn create_entry(tmpfs: BorrowedFd<'_>, entry: &TmpfsEntry) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode;
    match entry {
        TmpfsEntry::Directory(name) => mkdirat(tmpfs, name, mode(0o755)),
        TmpfsEntry::WorldWritableDirectory(name) => mkdirat(tmpfs, name, mode(0o1777)),
        TmpfsEntry::File(name) => {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            openat(tmpfs, name, flags, mode(0o444)).map(drop)
        }
        TmpfsEntry::Link(name, target) => symlinkat(target, tmpfs, name),
    }
}

/// Mounts a path over itself, so that it cannot be renamed.
fn pin(path: &CStr, read_only: bool) -> Result<(), Errno> {
    attach(clone_mount(path, if read_only { READ_ONLY_ATTRIBUTES } else { SAFE_ATTRIBUTES })?.as_fd(), path)
}

/// Mounts the empty directory or the empty file of the tmpfs over a path.
fn mask(tmpfs: BorrowedFd<'_>, path: &CStr, is_directory: bool) -> Result<(), Errno> {
    let tree = clone_tree(tmpfs, if is_directory { EMPTY_DIR } else { EMPTY_FILE })?;
    raw::set_mount_attributes(tree.as_fd(), READ_ONLY_ATTRIBUTES | MountAttrFlags::MOUNT_ATTR_NOEXEC)?;
    attach(tree.as_fd(), path)
}

/// Clones the mount at a path, with all mounts below it.
fn clone_mount(path: &CStr, attributes: MountAttrFlags) -> Result<OwnedFd, Errno> {
    let tree = clone_tree(open_path(path)?.as_fd(), c"")?;
    raw::set_mount_attributes(tree.as_fd(), attributes)?;
    Ok(tree)
}

fn clone_tree(directory: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(directory, name, flags)
}

fn attach(tree: BorrowedFd<'_>, path: &CStr) -> Result<(), Errno> {
    let place = open_path(path)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, c"", place, c"", flags)
}

fn open_path(path: &CStr) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)
}
