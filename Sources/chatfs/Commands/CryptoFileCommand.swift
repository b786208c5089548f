import Base
import ChatCore
import CommandLineKit
import Cryptography
import EmbeddedCore
import Glibc
import Posix

/// `chatfs cryptofile`: encrypted files of the SimpleX apps, without a chat.
enum CryptoFileCommand {
    private static let plain = Argument("IN", .file, "The file to encrypt.")
    private static let target = Argument(
        "OUT", .file, "The encrypted file; 16 bytes longer. An existing file is replaced.")

    static let command = Command(
        "cryptofile", "Encrypt and decrypt files as SimpleX keeps them on disk.",
        section: CommandSection.files, subcommands: [encrypt, decrypt])

    private static let encrypt = Command(
        "encrypt", "Encrypt a file with a fresh key and print the key.",
        discussion: """
            Standard output is one line of JSON, {"fileKey":…,"fileNonce":…}. Anyone with it can read OUT. ChatFS does \
            not store it: without it OUT is lost.
            """,
        arguments: [plain, target],
        examples: [
            Example(
                "chatfs cryptofile encrypt report.pdf report.enc > report.json", "Keep the key in a file.")
        ]
    ) { invocation in
        let (source, destination) = (invocation[plain], invocation[target])
        // The key is printed before the file gets its name.
        try await ThreadPool.shared.run { () throws(any Error) in
            try readable(source)
            try naming(destination) {
                try CryptoFile.encrypt(from: source, to: destination) {
                    (arguments) throws(CryptographyError) in
                    do throws(SystemError) {
                        try Terminal.deliver(arguments.text)
                    } catch {
                        throw CryptographyError(error)
                    }
                }
            }
        }
    }

    /// Opens the source first, so that errors name the right path.
    private static func readable(_ source: String) throws {
        try naming(source) { _ = try OpenFile(source, flags: O_RDONLY) }
    }

    private static let encrypted = Argument("IN", .file, "The encrypted file.")
    private static let decrypted = Argument("OUT", .file, "The decrypted file. An existing file is replaced.")
    private static let given = Option(
        "args", named: "FILE", .file,
        "The JSON that 'encrypt' printed, or a file source of the SimpleX apps; - reads standard input.")
    private static let key = Option(
        "key", named: "K", .text, "The key, 44 characters of base64url; may begin with a dash.")
    private static let salvage = Option.flag("salvage", "Write the readable blocks, even of a changed file.")
    private static let nonce = Option(
        "nonce", named: "N", .text, "The nonce, 32 characters of base64url; may begin with a dash.")

    private static let decrypt = Command(
        "decrypt", "Decrypt a file and verify its integrity.",
        discussion: """
            The key comes from --args, or from --key and --nonce. A damaged copy that ChatFS set aside in its data \
            directory (profiles/N/damaged/M) needs no options. If the file was changed or the key belongs to another \
            file, OUT stays unchanged. With --salvage the readable blocks are decrypted all the same, and zeros \
            replace unreadable ones; a wrong tag is then reported, with exit status 1, after OUT was written.
            """,
        arguments: [encrypted, decrypted], options: [given, key, salvage, nonce] + CommonOptions.unlocking,
        examples: [
            Example(
                "chatfs cryptofile decrypt report.enc report.pdf --args report.json", "Use the kept key."),
            Example(
                "chatfs cryptofile decrypt --salvage ~/.local/share/chatfs/profiles/1/damaged/7 film.mp4",
                "Recover the rest of a damaged file."),
        ]
    ) { invocation in
        let (source, destination) = (invocation[encrypted], invocation[decrypted])
        let arguments: FileArguments
        switch (invocation[given], invocation[key], invocation[nonce]) {
        case (let path?, nil, nil):
            let text = try await ThreadPool.shared.run { () throws(PathError) in
                try naming(path) {
                    try DescriptionArgument.readText(path, as: "the file of --args", upTo: 64 << 10)
                }
            }
            arguments = try FileArguments(parsing: text)
        case (nil, let key?, let nonce?):
            do {
                arguments = try FileArguments(key: key, nonce: nonce)
            } catch {
                throw UsageError("--key and --nonce: " + sentence(of: error))
            }
        case (nil, nil, nil):
            guard let copy = SetAsideCopy(source) else { fallthrough }
            arguments = try await copy.arguments(invocation)
        default:
            throw UsageError("the key is missing: give either --args, or --key and --nonce")
        }
        let salvages = invocation[salvage]
        try await ThreadPool.shared.run { () throws(any Error) in
            try readable(source)
            if salvages { return try writeReadable(source, to: destination, arguments) }
            try naming(destination) {
                try CryptoFile.decrypt(from: source, to: destination, arguments: arguments)
            }
        }
    }

    private static func writeReadable(
        _ source: String, to destination: String, _ arguments: FileArguments
    ) throws {
        let result = try naming(destination) {
            try CryptoFile.salvage(from: source, to: destination, arguments: arguments)
        }
        guard !result.isAuthentic else { return }
        try naming(source) {
            let missing = ByteCount.rounded(result.unreadable)
            throw CryptographyError(
                .notAuthentic,
                "The tag is wrong: the file was changed, cut off, or belongs to another key. \(destination) has the "
                    + "readable part, \(ByteCount.rounded(result.size)), which may contain changed bytes"
                    + (result.unreadable > 0
                        ? "; zeros replace \(missing) that the disk could not read."
                        : "."))
        }
    }
}
