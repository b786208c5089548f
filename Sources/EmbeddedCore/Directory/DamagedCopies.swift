import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// Copies of files that turned out to be damaged, in a folder of their own under the numbers of their files, each
/// with the arguments that open it beside it, until a good one is there: what of them is whole can be had by
/// `chatfs cryptofile decrypt --salvage`. All calls block.
struct DamagedCopies: Sendable {
    private let path: String

    init(profileFolder: String) { path = profileFolder + "/damaged" }

    private func copyPath(of file: FileID) -> String { "\(path)/\(file.rawValue)" }
    private static func argumentsName(of file: FileID) -> String { "\(file.rawValue).json" }

    /// Gives a copy a second name here; nothing when it is not there at all. Durable when it returns.
    func setAside(_ copy: FileSourceLocation, of file: FileID) throws(SystemError) {
        guard let arguments = copy.arguments, access(copy.path, F_OK) == 0 else { return }
        if mkdir(path, 0o700) != 0 && errno != EEXIST {
            throw SystemError(code: errno, operation: "make a folder")
        }
        let folder = try OpenFile(path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        // Never the arguments of one beside another.
        remove(of: file)
        try PrivateFolder.write(Array(arguments.text.utf8), to: Self.argumentsName(of: file), in: folder)
        try check("set a damaged file aside") { link(copy.path, copyPath(of: file)) }
        try folder.synchronise()
    }

    /// What a user can do with the copy of a file that is here, a sentence; nil when none is.
    func remains(of file: FileID) -> String? {
        let copy = copyPath(of: file)
        guard access(copy, F_OK) == 0 else { return nil }
        return "What can still be read of its damaged copy, 'chatfs cryptofile decrypt --salvage \(copy) OUT "
            + "--args \(copy).json' writes to OUT."
    }

    func remove(of file: FileID) {
        unlink(copyPath(of: file))
        unlink("\(path)/\(Self.argumentsName(of: file))")
    }

    /// The files that have something here.
    var files: Set<FileID> {
        // Mostly there is no such folder: it is made for the first damaged copy.
        guard let folder = try? OpenFile(path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW),
            let names = try? PrivateFolder.names(in: folder)
        else { return [] }
        return Set(names.compactMap { $0.split(separator: ".").first.flatMap { Int64($0) }.map(FileID.init) })
    }
}
