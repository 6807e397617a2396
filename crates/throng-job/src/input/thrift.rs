//! Validates that bytes are a struct of Thrift's compact protocol, as the footer of a Parquet file should be.
//!
//! A decoder allocates the declared number of items of a list before it reads the first one. A list that declares two
//! billion would abort the process, so lengths are checked against the available bytes beforehand.

/// Maximum nesting of a footer. Valid footers have fewer than ten levels.
const DEEPEST: usize = 64;

/// Returns the field ids of the struct at the start of these bytes; `None` if they are not a valid struct.
pub(super) fn fields(bytes: &[u8]) -> Option<Vec<i16>> {
    ThriftWalk { rest: bytes }.structure(DEEPEST)
}

/// Skips over encoded values; keeps only field ids.
struct ThriftWalk<'a> {
    rest: &'a [u8],
}

impl ThriftWalk<'_> {
    fn structure(&mut self, depth: usize) -> Option<Vec<i16>> {
        let mut fields = Vec::new();
        let mut number = 0_i16;
        loop {
            let header = self.byte()?;
            let kind = header & 0x0f;
            if kind == 0 {
                return Some(fields);
            }
            number = match header >> 4 {
                0 => self.zigzag()?,
                step => number.checked_add(i16::from(step))?,
            };
            fields.push(number);
            // A boolean field is encoded in its type.
            if !matches!(kind, 1 | 2) {
                self.value(kind, depth)?;
            }
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            1..=3 => self.skip(1),
            4..=6 => self.varint().map(drop),
            7 => self.skip(8),
            8 => {
                let length = self.varint()?;
                self.skip(length)
            }
            9 | 10 => {
                let header = self.byte()?;
                let length = if header >> 4 == 15 { self.varint()? } else { u64::from(header >> 4) };
                self.items(length, &[header & 0x0f], depth)
            }
            11 => {
                let length = self.varint()?;
                let kinds = if length == 0 { 0 } else { self.byte()? };
                self.items(length, &[kinds >> 4, kinds & 0x0f], depth)
            }
            12 => self.structure(depth).map(drop),
            13 => self.skip(16),
            _ => None,
        }
    }

    /// Skips `length` items, each a sequence of values of these kinds; an item has at least one byte.
    fn items(&mut self, length: u64, kinds: &[u8], depth: usize) -> Option<()> {
        if length > self.rest.len() as u64 {
            return None;
        }
        for _ in 0..length {
            for kind in kinds {
                self.value(*kind, depth)?;
            }
        }
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn skip(&mut self, length: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(length).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i16> {
        let number = self.varint()?;
        i16::try_from((number >> 1) as i64 ^ -((number & 1) as i64)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::fields;

    #[test]
    fn every_kind_of_value_is_walked_over() {
        let bytes = [
            &[0x11][..],                           // 1: true
            &[0x13, 0xff],                         // 2: a byte
            &[0x15, 0x80, 0x80, 0x01],             // 3: a number
            &[0x17, 0, 0, 0, 0, 0, 0, 0, 0],       // 4: a double
            &[0x18, 3, b'a', b'b', b'c'],          // 5: a text
            &[0x19, 0x35, 1, 2, 0x83, 0x01],       // 6: a list of three numbers
            &[0x19, 0xf8, 0x01, 2, b'x', b'y'],    // 7: a list whose length has its own byte
            &[0x1b, 0x01, 0x58, 0x07, 0x01, b'z'], // 8: a map of a number to a text
            &[0x1b, 0x00],                         // 9: an empty map
            &[0x1c, 0x15, 0x02, 0x00],             // 10: a structure with a number
            &[0x05, 0x28, 0x01],                   // 20: a number whose field id is written in full
            &[0x00, 0xff],                         // the end, and what follows
        ];
        let walked = fields(&bytes.concat());
        assert_eq!(walked, Some(vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20]));
    }

    #[test]
    fn lengths_beyond_the_end_and_endless_nesting_are_refused() {
        for bytes in [
            &[][..],
            &[0x15],
            &[0x15, 0x80],
            &[0x18, 0x05, b'a', 0x00],
            &[0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            &[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0x00],
            &[0x1b, 0xff, 0xff, 0xff, 0xff, 0x07, 0x11, 0x00],
            &[0x1e, 0x00],
            &[0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00],
            &[0x1c; 5000],
        ] {
            assert_eq!(fields(bytes), None, "{bytes:?}");
        }
    }
}
