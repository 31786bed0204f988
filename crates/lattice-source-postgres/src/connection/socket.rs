//! A plain or an encrypted socket.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    net::tcp::{OwnedReadHalf, OwnedWriteHalf},
};
use tokio_rustls::client::TlsStream;

/// A socket.
#[derive(Debug)]
pub enum Socket {
    /// As it is.
    Plain(TcpStream),
    /// Encrypted.
    Tls(Box<TlsStream<TcpStream>>),
}

/// What is read from.
#[derive(Debug)]
pub enum ReadHalf {
    /// As it is.
    Plain(OwnedReadHalf),
    /// Encrypted.
    Tls(tokio::io::ReadHalf<TlsStream<TcpStream>>),
}

/// What is written to.
#[derive(Debug)]
pub enum WriteHalf {
    /// As it is.
    Plain(OwnedWriteHalf),
    /// Encrypted.
    Tls(tokio::io::WriteHalf<TlsStream<TcpStream>>),
}

impl Socket {
    /// Both directions on their own.
    #[must_use]
    pub fn split(self) -> (ReadHalf, WriteHalf) {
        match self {
            Self::Plain(stream) => {
                let (read, write) = stream.into_split();
                (ReadHalf::Plain(read), WriteHalf::Plain(write))
            }
            Self::Tls(stream) => {
                let (read, write) = tokio::io::split(*stream);
                (ReadHalf::Tls(read), WriteHalf::Tls(write))
            }
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_read(context, buffer),
        }
    }
}

impl AsyncRead for ReadHalf {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

macro_rules! write_through {
    ($name:ident, $tls:ident => $inner:expr) => {
        impl AsyncWrite for $name {
            fn poll_write(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<std::io::Result<usize>> {
                match self.get_mut() {
                    Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
                    Self::Tls($tls) => Pin::new($inner).poll_write(context, bytes),
                }
            }

            fn poll_flush(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
            ) -> Poll<std::io::Result<()>> {
                match self.get_mut() {
                    Self::Plain(stream) => Pin::new(stream).poll_flush(context),
                    Self::Tls($tls) => Pin::new($inner).poll_flush(context),
                }
            }

            fn poll_shutdown(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
            ) -> Poll<std::io::Result<()>> {
                match self.get_mut() {
                    Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
                    Self::Tls($tls) => Pin::new($inner).poll_shutdown(context),
                }
            }
        }
    };
}

write_through!(Socket, stream => stream.as_mut());
write_through!(WriteHalf, stream => stream);
