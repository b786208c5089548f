import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// Whether metadata is removed from sent pictures (`--strip-metadata`).
public enum MetadataPolicy: String, CaseIterable, Sendable {
    /// Pictures are sent unchanged.
    case never
    /// JPEG, PNG and WebP pictures are sent without metadata.
    case images
}

/// Removes metadata from pictures before sending: EXIF with place and camera, XMP, IPTC, comments, embedded thumbnails,
/// and trailing bytes.
///
/// Pixel data stays identical, as do the colour profile and the orientation. `exiftool` does the work on a file in
/// memory, and can neither read the user's files nor write any (`Confinement`). No decrypted bytes reach a disk.
public struct MetadataRemover: Sendable {
    /// The Debian package of the program.
    public static let package = "libimage-exiftool-perl"
    /// In bytes. The program holds the picture several times.
    static let maxPictureSize: UInt64 = 64 << 20

    private let program: String
    private let timeout: Duration

    private static let formats: Set<PictureFormat> = [.jpeg, .png, .webp]
    private static let confinement = Confinement(maxMemory: 1 << 30, maxSeconds: 20)
    /// Disables the user's configuration, which is executable. Restores only the orientation.
    private static let arguments = [
        "-config", "", "-q", "-q", "-all=", "--icc_profile:all", "-tagsfromfile", "@", "-orientation", "-o",
        "-",
        "-",
    ]
    /// The maximum growth in bytes, from a restored orientation.
    private static let maxGrowth = 64 << 10

    /// Returns nil if the program is not installed.
    /// - Parameters:
    ///   - searchPath: The folders to search for `exiftool`.
    ///   - timeout: The maximum time for one picture on a busy machine.
    public init?(searchPath: [String] = ProgramSearch.folders(), timeout: Duration = .seconds(60)) {
        guard let program = ProgramSearch.path(of: "exiftool", in: searchPath) else { return nil }
        self.program = program
        self.timeout = timeout
    }

    /// Returns the message with a cleaned file next to the staged one, or the same message if the file is no such
    /// picture or has no metadata. The caller deletes the new file. Takes 0.1 s up to `timeout`; never blocks its
    /// thread.
    /// - Throws: `.sendingRefused` if the metadata of this picture cannot be removed, `.file` if a retry may help.
    public func cleaned(_ message: ComposedMessage) async throws(ChatError) -> ComposedMessage {
        do {
            let content = try await ThreadPool.shared.run { try Self.picture(of: message) }
            guard let content else { return message }
            guard message.size <= Self.maxPictureSize else {
                throw ChatError(
                    .sendingRefused,
                    "This picture is too large to have its metadata removed (64 MiB at most), so it is not sent."
                )
            }
            let picture = try await picture(content, size: message.size)
            return try await ThreadPool.shared.run {
                if try Self.isSame(picture, as: content, size: message.size) { return message }
                return try Self.staged(picture, insteadOf: message)
            }
        } catch let error as ChatError {
            throw error
        } catch let error as SystemError where error.code == ENOSPC || error.code == EDQUOT {
            throw ChatError(.file(.noSpace), "The disk is full.", cause: error)
        } catch {
            // Can be retried, because the core has not seen it.
            throw ChatError(
                .file(.timedOut),
                "The metadata of a picture could not be removed: its file could not be used.",
                cause: error)
        }
    }

    /// Returns a reader of the staged file, or nil if it is no supported picture.
    private static func picture(of message: ComposedMessage) throws -> SharedContent? {
        let content = try StagedContent.reader(of: message)
        let format = PictureFormat(start: try content(0, PictureFormat.bytesToTell))
        return format.map(formats.contains) == true ? content : nil
    }

    private func picture(_ content: @escaping SharedContent, size: UInt64) async throws -> [UInt8] {
        let input = try await ThreadPool.shared.run { try StagedContent.inMemory(content, size: size) }
        var settings = ChildProcess.Settings(program, Self.arguments)
        settings.environment = ["PERL5LIB": nil, "PERL5OPT": nil, "EXIFTOOL_HOME": nil, "LC_ALL": "C"]
        settings.input = .file(input)
        settings.output = .pipe
        settings.errors = .null
        settings.confinement = Self.confinement
        let process = ConfinedProgram(
            settings: settings, timeout: timeout, maxOutput: Int(size) + Self.maxGrowth)
        let outcome = await process.run { _ in }
        switch outcome {
        case .ended(0, let output) where PictureFormat(start: output).map(Self.formats.contains) == true:
            return output
        case .ended, .crashed:
            throw ChatError(
                .sendingRefused,
                "The metadata of this picture could not be removed, so it is not sent. It may be damaged: save it anew, "
                    + "or mount with --strip-metadata never.")
        case .notFinished:
            throw ChatError(
                .file(.timedOut),
                "The metadata of this picture could not be removed in time; it is tried again.")
        }
    }

    private static func isSame(_ picture: [UInt8], as content: SharedContent, size: UInt64) throws -> Bool {
        guard picture.count == Int(size) else { return false }
        var position = 0
        while position < picture.count {
            let piece = try content(UInt64(position), 256 << 10)
            guard !piece.isEmpty, picture[position...].starts(with: piece) else { return false }
            position += piece.count
        }
        return true
    }

    /// Writes the picture durably into the same folder, under a name that the sweep of sent files recognises. Blocks.
    private static func staged(
        _ picture: [UInt8], insteadOf message: ComposedMessage
    ) throws -> ComposedMessage {
        let path =
            message.source.path.parentPath + "/send-" + Hexadecimal.encode(SystemRandomSource().bytes(16))
        var message = message
        message.source = FileSourceLocation(path: path, arguments: CryptoFile.freshArguments())
        message.size = UInt64(picture.count)
        do {
            let file = try OpenFile(path, flags: O_RDWR | O_CREAT | O_EXCL)
            guard let arguments = message.source.arguments else { return message }
            let writer = try CryptoFileWriter(file: file, arguments: arguments)
            try picture.withUnsafeBytes { try writer.append($0) }
            try writer.finish()
            try file.synchronise()
        } catch {
            unlink(path)
            throw error
        }
        return message
    }
}
