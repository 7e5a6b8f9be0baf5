//! SHA-1, for the names of git's objects only: it protects nothing.

/// Computes SHA-1.
pub(crate) struct Sha1([u32; 5]);

impl Sha1 {
    /// Returns the SHA-1 of some bytes.
    pub(crate) fn of(bytes: &[u8]) -> [u8; 20] {
        let mut state = Self([0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0]);
        let (blocks, rest) = bytes.as_chunks::<64>();
        for block in blocks {
            state.add(block);
        }
        let mut end = rest.to_vec();
        end.push(0x80);
        while end.len() % 64 != 56 {
            end.push(0);
        }
        end.extend((bytes.len() as u64).wrapping_mul(8).to_be_bytes());
        for block in end.as_chunks::<64>().0 {
            state.add(block);
        }
        let mut name = [0; 20];
        for (to, word) in name.as_chunks_mut::<4>().0.iter_mut().zip(state.0) {
            *to = word.to_be_bytes();
        }
        name
    }

    fn add(&mut self, block: &[u8; 64]) {
        let mut words: Vec<u32> =
            block.as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word)).collect();
        let old = |words: &[u32], at: usize| words.get(at).copied().unwrap_or_default();
        for at in 16..80 {
            let next =
                old(&words, at - 3) ^ old(&words, at - 8) ^ old(&words, at - 14) ^ old(&words, at - 16);
            words.push(next.rotate_left(1));
        }
        let [mut a, mut b, mut c, mut d, mut e] = self.0;
        for (at, word) in words.into_iter().enumerate() {
            let (mixed, constant) = match at {
                0..20 => ((b & c) | (!b & d), 0x5a82_7999),
                20..40 => (b ^ c ^ d, 0x6ed9_eba1),
                40..60 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6_u32),
            };
            let next = a.rotate_left(5).wrapping_add(mixed).wrapping_add(e).wrapping_add(constant);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next.wrapping_add(word));
        }
        for (old, new) in self.0.iter_mut().zip([a, b, c, d, e]) {
            *old = old.wrapping_add(new);
        }
    }
}
