import Base
import Cryptography

/// Compares the tag of a CryptoFile while its bytes pass in order.
struct TagCheck {
    private var box: StreamBox
    /// Bytes of ciphertext that are still to come before the tag.
    private var left: UInt64
    private var tag: [UInt8] = []

    /// - Parameter size: of the file, with its tag.
    /// - Returns: nil for a file that is too short to be one, and for a key of another length.
    init?(_ arguments: FileArguments, size: UInt64) {
        guard size >= UInt64(StreamBox.tagLength),
            let box = try? StreamBox(key: arguments.key, nonce: arguments.nonce)
        else { return nil }
        self.box = box
        left = size - UInt64(StreamBox.tagLength)
    }

    mutating func take(_ bytes: UnsafeRawBufferPointer) {
        let count = Int(min(left, UInt64(bytes.count)))
        box.authenticate(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        left -= UInt64(count)
        tag.append(contentsOf: bytes[count...])
    }

    /// Whether all of it has passed and is as it was written.
    var isAuthentic: Bool { left == 0 && tag.count == StreamBox.tagLength && box.isAuthentic(tag) }
}
