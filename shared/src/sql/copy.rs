//! Rows as `copy … from stdin (format binary)` reads them.

/// What is sent at once. A longer row is sent whole.
const CHUNK: usize = 64 * 1024;

/// Signature, flags and the length of an extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// A tuple without a number of fields is the end.
const TRAILER: [u8; 2] = (-1_i16).to_be_bytes();

#[derive(Debug)]
pub struct CopyRows(Vec<u8>);

impl Default for CopyRows {
    fn default() -> Self {
        Self(HEADER.to_vec())
    }
}

impl CopyRows {
    /// Adds a row: the binary form of each field, or null. A field has less than two gigabytes.
    pub fn add(&mut self, fields: &[Option<&[u8]>]) {
        self.0.extend(i16::try_from(fields.len()).unwrap_or(i16::MAX).to_be_bytes());
        for field in fields {
            let length = field.map_or(-1, |bytes| i32::try_from(bytes.len()).unwrap_or(i32::MAX));
            self.0.extend(length.to_be_bytes());
            self.0.extend(field.unwrap_or_default());
        }
    }

    pub fn is_full(&self) -> bool {
        self.0.len() >= CHUNK
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Forgets what was sent.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn end(&mut self) {
        self.0.extend(TRAILER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_its_fields_behind_their_lengths_and_no_field_for_null() {
        let mut rows = CopyRows::default();
        rows.clear();
        rows.add(&[Some(b"ab"), None]);
        rows.end();
        assert_eq!(rows.bytes(), [0, 2, 0, 0, 0, 2, b'a', b'b', 255, 255, 255, 255, 255, 255]);
        assert!(!rows.is_full());
    }
}
