import COpenSSL
import Glibc

/// Received bytes that OpenSSL has not read yet: one system call brings several records.
///
/// OpenSSL's own read-ahead moves the rest to the front of its buffer before every record. In a buffer of eight records
/// that copies each byte three to four times.
final class ReceivedBytes {
    private let socket: Socket
    /// Emptied before the next receive.
    private let queue = ByteQueue(capacity: 128 << 10)
    /// The peer closed its direction.
    private(set) var hasEnded = false

    init(from socket: Socket) { self.socket = socket }

    /// Copies the next bytes into `buffer` and returns their number: 0 at the end, -1 with `errno` if there are none.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        if queue.isEmpty {
            let count = queue.append(upTo: queue.freeCapacity) { max(0, receive(into: $0)) }
            if count == 0 { return hasEnded ? 0 : -1 }
        }
        let count = min(buffer.count, queue.count)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: queue.bytes[..<count]))
        queue.removeFirst(count)
        return count
    }

    private func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = recv(socket.descriptor, buffer.baseAddress, buffer.count, 0)
            if count < 0 && errno == EINTR { continue }
            hasEnded = count == 0
            return count
        }
    }
}

/// The input of an SSL object.
enum ReceivingBIO {
    private static let retryFlags = BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY

    // Created once and immutable.
    private nonisolated(unsafe) static let method: OpaquePointer? = {
        let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "receiving")
        BIO_meth_set_read(
            method,
            { bio, target, count in
                guard let target, count > 0, let bytes = BIO_get_data(bio) else { return -1 }
                BIO_clear_flags(bio, retryFlags)
                let received = Unmanaged<ReceivedBytes>.fromOpaque(bytes).takeUnretainedValue()
                let read = received.read(
                    into: UnsafeMutableRawBufferPointer(start: target, count: Int(count)))
                if read < 0 && errno == EAGAIN { BIO_set_flags(bio, retryFlags) }
                return Int32(read)
            })
        BIO_meth_set_ctrl(
            method,
            { bio, command, _, _ in
                switch command {
                case BIO_CTRL_FLUSH: return 1
                case BIO_CTRL_EOF:
                    guard let bytes = BIO_get_data(bio) else { return 1 }
                    return Unmanaged<ReceivedBytes>.fromOpaque(bytes).takeUnretainedValue().hasEnded ? 1 : 0
                default: return 0
                }
            })
        return method
    }()

    /// Returns a BIO that reads from `bytes`, which must outlive it.
    static func make(from bytes: ReceivedBytes) -> OpaquePointer? {
        let bio = BIO_new(method)
        BIO_set_data(bio, Unmanaged.passUnretained(bytes).toOpaque())
        BIO_set_init(bio, 1)
        return bio
    }
}
