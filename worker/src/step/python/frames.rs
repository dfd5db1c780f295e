//! Frames between the worker and a process: four bytes of magic, four of length (big-endian), and a JSON text.

use std::io::{Error, ErrorKind, Result};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const MAGIC: [u8; 4] = *b"VTR1";

pub async fn write(to: &mut (impl AsyncWrite + Unpin), payload: &[u8]) -> Result<()> {
    let length = u32::try_from(payload.len()).map_err(|_| Error::from(ErrorKind::InvalidInput))?;
    to.write_all(&MAGIC).await?;
    to.write_all(&length.to_be_bytes()).await?;
    to.write_all(payload).await?;
    to.flush().await
}

/// Reads a frame. `InvalidData` says that there is none, `UnexpectedEof` that the other side is gone.
pub async fn read(from: &mut (impl AsyncRead + Unpin)) -> Result<Vec<u8>> {
    let (mut magic, mut length) = ([0; 4], [0; 4]);
    from.read_exact(&mut magic).await?;
    if magic != MAGIC {
        return Err(ErrorKind::InvalidData.into());
    }
    from.read_exact(&mut length).await?;
    let length = u32::from_be_bytes(length);
    // Grows with what comes, not with what was announced.
    let mut payload = Vec::new();
    from.take(length.into()).read_to_end(&mut payload).await?;
    if payload.len() != length as usize {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_frame_comes_out_as_it_went_in_and_nothing_else_is_one() {
        for payload in [&b""[..], b"{}", &[b'x'; 300_000]] {
            let mut pipe = Vec::new();
            write(&mut pipe, payload).await.expect("written");
            assert_eq!(read(&mut pipe.as_slice()).await.expect("read"), payload);
            let cut = pipe.len() - 1;
            let error = read(&mut &pipe[..cut]).await.expect_err("cut off");
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        }
        let error = read(&mut &b"printed by a step"[..]).await.expect_err("no frame");
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }
}
