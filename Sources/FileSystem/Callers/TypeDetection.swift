import Posix

/// Decides whether an opening of a file that is not on this machine only detects its type. A window that lists a folder
/// detects the type of each file whose name does not determine it. It opens these files one by one and waits for each.
///
/// The decision follows the program's behaviour, never its name alone:
///
/// * GIO (`get_content_type` in `gio/glocalfileinfo.c`) opens with O_NOATIME, reads once from offset 0 (4096 bytes
///   before GLib 2.80, up to 16,384 since) and closes. No other GIO operation sets that flag. After any error except
///   EPERM, GIO uses the type that the name suggests.
/// * Qt (`QMimeDatabase::mimeTypeForFile`) opens without a special flag and reads 16,384 bytes. If open fails, Qt uses
///   the type that the name suggests; if read fails, Qt treats the file as empty. KDE's windows detect types in their
///   main thread, for a folder that they watch. Copies run in KIO's threads.
///
/// A pure value.
enum TypeDetection {
    enum Verdict: Hashable, Sendable {
        /// The program reads the content.
        case reader
        /// The program only detects the type.
        case detection
        /// The first read decides: at offset 0 and at most `limit` bytes long, it detects the type.
        case byFirstRead(limit: Int)
    }

    /// `O_NOATIME` of open(2).
    static let noAccessTime: Int32 = 0o1000000

    /// Size in bytes of the kernel's request, readahead included, for a one-page read at offset 0.
    static let onePage = 16_384
    /// Size in bytes of the kernel's request, readahead included, for a 16,384-byte read at offset 0.
    static let fourPages = 32_768

    /// Returns true if the program's traits decide. Every other opening is a `.reader`.
    static func dependsOnProgram(flags: Int32, nameSettlesType: Bool) -> Bool {
        flags & noAccessTime != 0 || !nameSettlesType
    }

    /// - Parameters:
    ///   - flags: Flags of open(2).
    ///   - size: File size in bytes.
    ///   - program: Traits of the program; nil if they cannot be read.
    static func verdict(
        flags: Int32, nameSettlesType: Bool, size: UInt64, by program: ProgramTraits?
    ) -> Verdict {
        if flags & noAccessTime != 0 {
            if program?.loadsGIO == true { return .detection }
            // A backup of a one-page file cannot be told from detection.
            return size > UInt64(onePage) ? .byFirstRead(limit: onePage) : .reader
        }
        guard !nameSettlesType, let program, program.loadsQt, program.showsFolder else { return .reader }
        guard program.isWorker else { return .detection }
        return size > UInt64(fourPages) ? .byFirstRead(limit: fourPages) : .reader
    }
}
