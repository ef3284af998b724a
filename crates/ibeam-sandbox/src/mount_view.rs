//! The child's side of a [`MountPlan`]: its own view of the files, made of mounts.
//!
//! Only system calls and the stack. Paths are opened without following links, so that what was resolved is what is
//! mounted. What refuses ends all of it where safety depends on it: a writable directory, the seal of
//! the rest, `/proc`, covers, guards. A device that cannot be had, or a hidden path that is not there, ends nothing.

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
    BindKind, EMPTY_DIR, EMPTY_FILE, MaskedPath, MountPlan, PinnedMount, Processes, TmpfsEntry,
};
use crate::raw;
use crate::setup_step::SetupStep;

/// The most paths that come back: a user adds some directories, not a hundred.
const MAX_BIND_MOUNTS: usize = 128;
/// Of every mount that commands see, but for harmless devices.
const SAFE_ATTRIBUTES: MountAttrFlags =
    MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV);
const READ_ONLY_ATTRIBUTES: MountAttrFlags = SAFE_ATTRIBUTES.union(MountAttrFlags::MOUNT_ATTR_RDONLY);

/// Makes it so, in a mount namespace of our own.
pub(crate) fn apply(plan: &MountPlan, last_pid: &str) -> Result<(), (SetupStep, Errno)> {
    mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(at(SetupStep::Propagation))?;
    let mut taken = [const { None::<OwnedFd> }; MAX_BIND_MOUNTS];
    if plan.bind_mounts.len() > MAX_BIND_MOUNTS {
        return Err((SetupStep::Writable, Errno::TOOBIG));
    }
    for (place, wanted) in taken.iter_mut().zip(&plan.bind_mounts) {
        let attributes = match wanted.bind_kind {
            BindKind::Writable => SAFE_ATTRIBUTES,
            BindKind::Visible => READ_ONLY_ATTRIBUTES,
            BindKind::Device => MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC,
        };
        *place = match (clone_mount(&wanted.path, attributes), wanted.bind_kind) {
            (Ok(tree), _) => Some(tree),
            // Commands, who have fewer powers, cannot reach it either: they are refused, and told so.
            (Err(Errno::NOENT | Errno::ACCESS), BindKind::Writable) => None,
            (Err(errno), BindKind::Writable) => return Err((SetupStep::Writable, errno)),
            (Err(_), BindKind::Visible | BindKind::Device) => None,
        };
    }
    if plan.processes == Processes::OwnNumbers {
        set_last_pid(last_pid);
    }
    make_read_only(plan).map_err(at(SetupStep::Seal))?;
    if plan.processes == Processes::Own {
        mount_own_proc(last_pid).map_err(at(SetupStep::Proc))?;
    }
    let memory = mount_overmounts(plan).map_err(at(SetupStep::Overmount))?;
    for other in &plan.other_processes {
        match mask(memory.as_fd(), other, true) {
            // It has ended.
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::SRCH) => {}
            Err(errno) => return Err((SetupStep::Proc, errno)),
        }
    }
    for (tree, wanted) in taken.iter().zip(&plan.bind_mounts) {
        let Some(tree) = tree else { continue };
        match (attach(tree.as_fd(), &wanted.path), wanted.bind_kind) {
            (Ok(()), _) | (Err(_), BindKind::Visible | BindKind::Device) => {}
            (Err(errno), BindKind::Writable) => return Err((SetupStep::Writable, errno)),
        }
    }
    for PinnedMount { path, read_only: sealed } in &plan.pinned {
        match pin(path, *sealed) {
            Ok(()) | Err(Errno::NOENT | Errno::ACCESS) => {}
            Err(errno) => return Err((SetupStep::PinnedMount, errno)),
        }
    }
    for MaskedPath { path, is_directory } in &plan.masked {
        match mask(memory.as_fd(), path, *is_directory) {
            // Whom the system keeps out need not be kept out by us.
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => {}
            Err(errno) => return Err((SetupStep::Hide, errno)),
        }
    }
    Ok(())
}

fn at(step: SetupStep) -> impl Fn(Errno) -> (SetupStep, Errno) {
    move |errno| (step, errno)
}

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

/// Programs name files by their process id: two runs at once must not begin with the same numbers. Only in a pid
/// namespace of our own; where that is refused, the numbers begin at 1.
fn set_last_pid(last_pid: &str) {
    if let Ok(file) =
        openat(CWD, c"/proc/sys/kernel/ns_last_pid", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
    {
        let _ = rustix::io::write(file, last_pid.as_bytes());
    }
}

/// Gives the root of the file system in memory, which nothing leads to any more.
fn mount_overmounts(plan: &MountPlan) -> Result<OwnedFd, Errno> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount(c"tmpfs", c"/dev", c"tmpfs", flags, Some(plan.tmpfs_options.as_c_str()))?;
    let memory = open_path(c"/dev")?;
    let former = umask(Mode::empty());
    let made = plan.tmpfs_entries.iter().try_for_each(|made| match create_entry(memory.as_fd(), made) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno),
    });
    umask(former);
    made?;
    for cover in &plan.overmounts {
        let tree = clone_tree(memory.as_fd(), &cover.name)?;
        raw::set_mount_attributes(
            tree.as_fd(),
            if cover.read_only { READ_ONLY_ATTRIBUTES } else { SAFE_ATTRIBUTES },
        )?;
        attach(tree.as_fd(), &cover.path)?;
    }
    // Where terminals cannot be had, commands have none.
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let _ = mount(c"devpts", c"/dev/pts", c"devpts", flags, Some(c"newinstance,ptmxmode=0666,mode=0620"));
    Ok(memory)
}

fn create_entry(memory: BorrowedFd<'_>, made: &TmpfsEntry) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode;
    match made {
        TmpfsEntry::Directory(name) => mkdirat(memory, name, mode(0o755)),
        TmpfsEntry::WorldWritableDirectory(name) => mkdirat(memory, name, mode(0o1777)),
        TmpfsEntry::File(name) => {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            openat(memory, name, flags, mode(0o444)).map(drop)
        }
        TmpfsEntry::Link(name, target) => symlinkat(target, memory, name),
    }
}

fn pin(path: &CStr, sealed: bool) -> Result<(), Errno> {
    attach(clone_mount(path, if sealed { READ_ONLY_ATTRIBUTES } else { SAFE_ATTRIBUTES })?.as_fd(), path)
}

fn mask(memory: BorrowedFd<'_>, path: &CStr, is_directory: bool) -> Result<(), Errno> {
    let tree = clone_tree(memory, if is_directory { EMPTY_DIR } else { EMPTY_FILE })?;
    raw::set_mount_attributes(tree.as_fd(), READ_ONLY_ATTRIBUTES | MountAttrFlags::MOUNT_ATTR_NOEXEC)?;
    attach(tree.as_fd(), path)
}

/// What is at a path, with all that is mounted below it, apart from everything else.
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
