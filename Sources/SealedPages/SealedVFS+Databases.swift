import Cryptography
import Glibc
import Posix

extension SealedVFS {
    /// The first bytes of a sealed database file.
    public static var magic: [UInt8] { DatabaseHeader.magic }

    /// Prepares to open a database. Call `end` on the result after SQLite has opened it or failed.
    ///
    /// - Parameter dataKey: 32 random bytes, shared by any number of databases. Each derives its own keys from it.
    public static func open(path: String, dataKey: SecretBytes) -> Opening {
        precondition(dataKey.count == RecordCipher.keyLength, "a data key must have 32 bytes")
        register()
        let opening = Opening(path: path, dataKey: dataKey)
        opening.begin()
        return opening
    }

    /// Creates an empty sealed database with mode 0600, durable when this returns. It is named only when complete: of
    /// several concurrent processes, one creates it.
    ///
    /// - Returns: false if the name exists.
    /// - Throws: `.file`.
    public static func make(path: String, dataKey: SecretBytes) throws(SealedPagesError) -> Bool {
        precondition(dataKey.count == RecordCipher.keyLength, "a data key must have 32 bytes")
        var status = stat()
        if lstat(path, &status) == 0 { return false }
        let content = NewDatabase.content(dataKey: dataKey)
        do throws(SystemError) {
            return try NewDatabase.place(content, at: path)
        } catch {
            throw .file(error)
        }
    }
}
