//! Words of memory that this process and the children that it forks share.

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

/// Allocates `count` words, all zero. They take memory only where they are written. They are never freed, because
/// children refer to them.
///
/// # Errors
/// `NOMEM`: the system has no memory.
pub(crate) fn shared_words(count: usize) -> Result<&'static [AtomicU64], Errno> {
    // SAFETY: new memory at a place the system chooses, aligned to pages, zeroed, and never unmapped. It is only
    // accessed as atomic words, whatever process changes them.
    unsafe {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::NORESERVE;
        let start = mmap_anonymous(std::ptr::null_mut(), count * size_of::<AtomicU64>(), protection, flags)?;
        Ok(std::slice::from_raw_parts(start.cast(), count))
    }
}

/// Sets all words to zero and returns their memory to the system.
pub(crate) fn clear_words(words: &'static [AtomicU64]) {
    // SAFETY: the memory belongs to a shared mapping of whole pages, whose removed pages read as zero.
    let removed =
        unsafe { libc::madvise(words.as_ptr().cast_mut().cast(), size_of_val(words), libc::MADV_REMOVE) };
    if removed != 0 {
        for word in words {
            word.store(0, Ordering::Relaxed);
        }
    }
}
