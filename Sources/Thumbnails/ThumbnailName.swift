import Base
import Cryptography

/// The name of a thumbnail: the MD5 of the URI of its file.
struct ThumbnailName: Hashable, Sendable {
    private let digest: [UInt8]

    init(uri: String) { digest = MD5.hash(Array(uri.utf8)) }

    /// Returns nil for other names.
    init?(fileName: String) {
        guard fileName.utf8.count == 2 * MD5.length + 4, fileName.hasSuffix(".png"),
            let digest = Hexadecimal.decode(fileName.dropLast(4))
        else { return nil }
        self.digest = digest
    }

    var fileName: String { Hexadecimal.encode(digest) + ".png" }
}
