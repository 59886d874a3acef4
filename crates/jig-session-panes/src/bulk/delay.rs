//! When an entry's turn is: its place in the queue, and a jitter that is the same for a target every time.

/// Milliseconds after the start: `floor(index / concurrency) * jitter` plus a hash of the target within the jitter.
pub fn delay(target: &str, index: usize, concurrency: u64, jitter_ms: u64) -> u64 {
    if jitter_ms == 0 {
        return 0;
    }
    let wave = index as u64 / concurrency.max(1);
    let hash = fnv1a(target) as i32;
    wave.saturating_mul(jitter_ms).saturating_add(u64::from(hash.unsigned_abs()) % jitter_ms.saturating_add(1))
}

/// FNV-1a, 32 bits, over UTF-16 code units.
fn fnv1a(text: &str) -> u32 {
    text.encode_utf16().fold(2_166_136_261, |hash, unit| (hash ^ u32::from(unit)).wrapping_mul(16_777_619))
}
