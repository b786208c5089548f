import Posix

/// Decides whether an opening of a file that is not here only finds out its type. Windows that list a folder do that for
/// every name that does not settle it, one after the other, and wait for each.
///
/// It is told by what the program does, never by its name alone:
///
/// * GIO (`get_content_type` in `gio/glocalfileinfo.c`) opens with O_NOATIME, reads once at the beginning, 4096 bytes
///   before GLib 2.80 and up to 16,384 since, and closes. Nothing else that it does has that flag. Of an error other
///   than EPERM it takes the type that the name suggests.
/// * Qt (`QMimeDatabase::mimeTypeForFile`) opens without a flag of its own and reads 16,384 bytes. When it cannot open,
///   it takes the type that the name suggests; when it cannot read, it takes the file for empty. KDE's windows do this in
///   their main thread, for a folder that they watch; copies run in threads of KIO.
///
/// A value without input and output.
enum TypeDetection {
    enum Verdict: Hashable, Sendable {
        /// It wants the bytes.
        case reader
        /// It only finds out the type.
        case detection
        /// That shows when it reads: a first read at the beginning of at most so many bytes finds out the type.
        case byFirstRead(limit: Int)
    }

    /// `O_NOATIME` of open(2).
    static let noAccessTime: Int32 = 0o1000000

    /// As the kernel asks for the read of one page at the beginning of a file, with what it reads ahead.
    static let onePage = 16_384
    /// The same for a read of 16,384 bytes.
    static let fourPages = 32_768

    /// Whether it depends on the program. Of all other openings the verdict is `.reader`.
    static func dependsOnProgram(flags: Int32, nameSettlesType: Bool) -> Bool {
        flags & noAccessTime != 0 || !nameSettlesType
    }

    /// - Parameters:
    ///   - flags: those of open(2).
    ///   - size: of the file, in bytes.
    ///   - program: nil where it cannot be seen.
    static func verdict(
        flags: Int32, nameSettlesType: Bool, size: UInt64, by program: ProgramTraits?
    ) -> Verdict {
        if flags & noAccessTime != 0 {
            if program?.loadsGIO == true { return .detection }
            // A backup of a file that one page holds begins as a detection does.
            return size > UInt64(onePage) ? .byFirstRead(limit: onePage) : .reader
        }
        guard !nameSettlesType, let program, program.loadsQt, program.showsFolder else { return .reader }
        guard program.isWorker else { return .detection }
        return size > UInt64(fourPages) ? .byFirstRead(limit: fourPages) : .reader
    }
}
