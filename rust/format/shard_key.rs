//! The key of a shard in Spark: the integer whose hash in Spark is the number of the shard.
//!
//! Spark sends a row to partition `hash(key) mod partitions`. With shard numbers as keys, chance
//! would distribute the shards: one of two partitions might get five of eight shards, the other
//! three. With these keys, partition `p` gets the shards `p`, `p + partitions`, and so on, for any
//! number of partitions.
//!
//! ```text
//!   shard 0 1 2 3 4 5 6 7 ─▶ key ─▶ Spark's hash 0 1 2 3 4 5 6 7 ─▶ two partitions: 0 2 4 6, 1 3 5 7
//! ```

/// The seed of Spark's hashes.
const SEED: u32 = 42;
/// The constants of Murmur3, 32 bits on x86.
const C1: u32 = 0xcc9e_2d51;
const C2: u32 = 0x1b87_3593;
const M: u32 = 5;
const N: u32 = 0xe654_6b64;
const F1: u32 = 0x85eb_ca6b;
const F2: u32 = 0xc2b2_ae35;
/// The size of a key, in bytes.
const LENGTH: u32 = 4;

/// The key of a shard. The hash is invertible, so no two shards share a key.
pub(crate) fn of(shard: u32) -> i32 {
    let mut hash = shard;
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(inverse(F2));
    hash ^= (hash >> 13) ^ (hash >> 26);
    hash = hash.wrapping_mul(inverse(F1));
    hash ^= hash >> 16;
    hash ^= LENGTH;
    hash = hash.wrapping_sub(N).wrapping_mul(inverse(M));
    let mixed = hash.rotate_right(13) ^ SEED;
    let key = mixed.wrapping_mul(inverse(C2)).rotate_right(15);
    key.wrapping_mul(inverse(C1)).cast_signed()
}

/// The multiplicative inverse of an odd number, modulo 2^32.
const fn inverse(odd: u32) -> u32 {
    let mut inverse = odd; // its last three bits are right; each step doubles the right bits
    let mut step = 0;
    while step < 4 {
        inverse = inverse.wrapping_mul(2_u32.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Murmur3 of the four bytes of a key.
    fn hash(key: i32) -> u32 {
        let mixed = key.cast_unsigned().wrapping_mul(C1).rotate_left(15);
        let mut hash = SEED ^ mixed.wrapping_mul(C2);
        hash = hash.rotate_left(13).wrapping_mul(M).wrapping_add(N);
        hash ^= LENGTH;
        hash ^= hash >> 16;
        hash = hash.wrapping_mul(F1);
        hash ^= hash >> 13;
        hash = hash.wrapping_mul(F2);
        hash ^ (hash >> 16)
    }

    #[test]
    fn a_key_has_the_number_of_its_shard_as_its_hash() {
        // hash(0), hash(1), hash(42), hash(-1) of Spark 4.3
        let known = [
            (0, 933_211_791),
            (1, -559_580_957),
            (42, 29_417_773),
            (-1, -1_604_776_387),
        ];
        for (key, expected) in known {
            assert_eq!(hash(key).cast_signed(), expected);
        }
        for number in (0..10_000).chain([1 << 16, (1 << 31) - 1]) {
            assert_eq!(hash(of(number)), number);
        }
    }
}
