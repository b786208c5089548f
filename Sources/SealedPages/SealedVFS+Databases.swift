import Cryptography
import Glibc
import Posix

extension SealedVFS {
    /// The first bytes of a sealed database file.
    public static var magic: [UInt8] { DatabaseHeader.magic }

    /// Prepares to open a database; `end` what is returned when SQLite has opened it or not.
    ///
    /// - Parameter dataKey: 32 random bytes, the same for any number of databases: each has keys of its own, made of
    ///   it and of what is in the file.
    public static func open(path: String, dataKey: SecretBytes) -> Opening {
        precondition(dataKey.count == RecordCipher.keyLength, "a data key has 32 bytes")
        register()
        let opening = Opening(path: path, dataKey: dataKey)
        opening.begin()
        return opening
    }

    /// Makes an empty sealed database, of mode 0600, that is on disk when this returns. It gets its name when it is
    /// complete: of any number of processes that do so at once, one makes it.
    ///
    /// - Returns: false where there is something of that name.
    /// - Throws: `.file`.
    public static func make(path: String, dataKey: SecretBytes) throws(SealedPagesError) -> Bool {
        precondition(dataKey.count == RecordCipher.keyLength, "a data key has 32 bytes")
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
