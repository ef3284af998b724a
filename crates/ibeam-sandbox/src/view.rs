//! The child's side of a [`Plan`]: its own view of the files, made of mounts.
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

use crate::plan::{EMPTY, Guard, Hidden, Kind, Made, NOTHING, Plan, Processes};
use crate::raw;
use crate::step::Step;

/// The most paths that come back: a user adds some directories, not a hundred.
const TAKEN: usize = 128;
/// Of every mount that commands see, but for harmless devices.
const TAME: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV);
const SEALED: MountAttrFlags = TAME.union(MountAttrFlags::MOUNT_ATTR_RDONLY);

/// Makes it so, in a mount namespace of our own.
pub(crate) fn build(plan: &Plan, last_pid: &str) -> Result<(), (Step, Errno)> {
    mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(at(Step::Propagation))?;
    let mut taken = [const { None::<OwnedFd> }; TAKEN];
    if plan.taken.len() > TAKEN {
        return Err((Step::Writable, Errno::TOOBIG));
    }
    for (place, wanted) in taken.iter_mut().zip(&plan.taken) {
        let attributes = match wanted.kind {
            Kind::Writable => TAME,
            Kind::Visible => SEALED,
            Kind::Device => MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC,
        };
        *place = match (take(&wanted.path, attributes), wanted.kind) {
            (Ok(tree), _) => Some(tree),
            // Commands, who have fewer powers, cannot reach it either: they are refused, and told so.
            (Err(Errno::NOENT | Errno::ACCESS), Kind::Writable) => None,
            (Err(errno), Kind::Writable) => return Err((Step::Writable, errno)),
            (Err(_), Kind::Visible | Kind::Device) => None,
        };
    }
    if plan.processes == Processes::OwnNumbers {
        begin_numbers_at(last_pid);
    }
    seal(plan).map_err(at(Step::Seal))?;
    if plan.processes == Processes::Own {
        own_proc(last_pid).map_err(at(Step::Proc))?;
    }
    let memory = cover(plan).map_err(at(Step::Cover))?;
    for other in &plan.others {
        match hide(memory.as_fd(), other, true) {
            // It has ended.
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::SRCH) => {}
            Err(errno) => return Err((Step::Proc, errno)),
        }
    }
    for (tree, wanted) in taken.iter().zip(&plan.taken) {
        let Some(tree) = tree else { continue };
        match (put(tree.as_fd(), &wanted.path), wanted.kind) {
            (Ok(()), _) | (Err(_), Kind::Visible | Kind::Device) => {}
            (Err(errno), Kind::Writable) => return Err((Step::Writable, errno)),
        }
    }
    for Guard { path, sealed } in &plan.guards {
        match guard(path, *sealed) {
            Ok(()) | Err(Errno::NOENT | Errno::ACCESS) => {}
            Err(errno) => return Err((Step::Guard, errno)),
        }
    }
    for Hidden { path, is_directory } in &plan.hidden {
        match hide(memory.as_fd(), path, *is_directory) {
            // Whom the system keeps out need not be kept out by us.
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => {}
            Err(errno) => return Err((Step::Hide, errno)),
        }
    }
    Ok(())
}

fn at(step: Step) -> impl Fn(Errno) -> (Step, Errno) {
    move |errno| (step, errno)
}

fn seal(plan: &Plan) -> Result<(), Errno> {
    let root = open(c"/")?;
    raw::set_mount_attributes(root.as_fd(), if plan.sealed { SEALED } else { TAME })?;
    plan.system.iter().try_for_each(|path| guard(path, true))
}

fn own_proc(last_pid: &str) -> Result<(), Errno> {
    mount(c"proc", c"/proc", c"proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)?;
    begin_numbers_at(last_pid);
    raw::set_mount_attributes(open(c"/proc")?.as_fd(), SEALED | MountAttrFlags::MOUNT_ATTR_NOEXEC)
}

/// Programs name files by their process id: two runs at once must not begin with the same numbers. Only in a pid
/// namespace of our own; where that is refused, the numbers begin at 1.
fn begin_numbers_at(last_pid: &str) {
    if let Ok(file) =
        openat(CWD, c"/proc/sys/kernel/ns_last_pid", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
    {
        let _ = rustix::io::write(file, last_pid.as_bytes());
    }
}

/// Gives the root of the file system in memory, which nothing leads to any more.
fn cover(plan: &Plan) -> Result<OwnedFd, Errno> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount(c"tmpfs", c"/dev", c"tmpfs", flags, Some(plan.memory.as_c_str()))?;
    let memory = open(c"/dev")?;
    let former = umask(Mode::empty());
    let made = plan.made.iter().try_for_each(|made| match make(memory.as_fd(), made) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno),
    });
    umask(former);
    made?;
    for cover in &plan.covers {
        let tree = clone(memory.as_fd(), &cover.name)?;
        raw::set_mount_attributes(tree.as_fd(), if cover.sealed { SEALED } else { TAME })?;
        put(tree.as_fd(), &cover.path)?;
    }
    // Where terminals cannot be had, commands have none.
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let _ = mount(c"devpts", c"/dev/pts", c"devpts", flags, Some(c"newinstance,ptmxmode=0666,mode=0620"));
    Ok(memory)
}

fn make(memory: BorrowedFd<'_>, made: &Made) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode;
    match made {
        Made::Directory(name) => mkdirat(memory, name, mode(0o755)),
        Made::Scratch(name) => mkdirat(memory, name, mode(0o1777)),
        Made::File(name) => {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            openat(memory, name, flags, mode(0o444)).map(drop)
        }
        Made::Link(name, target) => symlinkat(target, memory, name),
    }
}

fn guard(path: &CStr, sealed: bool) -> Result<(), Errno> {
    put(take(path, if sealed { SEALED } else { TAME })?.as_fd(), path)
}

fn hide(memory: BorrowedFd<'_>, path: &CStr, is_directory: bool) -> Result<(), Errno> {
    let tree = clone(memory, if is_directory { EMPTY } else { NOTHING })?;
    raw::set_mount_attributes(tree.as_fd(), SEALED | MountAttrFlags::MOUNT_ATTR_NOEXEC)?;
    put(tree.as_fd(), path)
}

/// What is at a path, with all that is mounted below it, apart from everything else.
fn take(path: &CStr, attributes: MountAttrFlags) -> Result<OwnedFd, Errno> {
    let tree = clone(open(path)?.as_fd(), c"")?;
    raw::set_mount_attributes(tree.as_fd(), attributes)?;
    Ok(tree)
}

fn clone(directory: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(directory, name, flags)
}

fn put(tree: BorrowedFd<'_>, path: &CStr) -> Result<(), Errno> {
    let place = open(path)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, c"", place, c"", flags)
}

fn open(path: &CStr) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)
}
