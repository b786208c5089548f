import Base
import Cryptography

/// Checks the tag of a CryptoFile while its bytes are read in order.
struct TagCheck {
    private var box: StreamBox
    /// The number of ciphertext bytes before the tag that were not read yet.
    private var left: UInt64
    private var tag: [UInt8] = []

    /// Returns nil for a file shorter than a tag, and for a key of another length.
    /// - Parameter size: The size of the file with its tag, in bytes.
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

    /// Whether all bytes were read and the tag is correct.
    var isAuthentic: Bool { left == 0 && tag.count == StreamBox.tagLength && box.isAuthentic(tag) }
}
