import Base
import Cryptography
import JSON

/// A file of the phone, exactly as the phone told of it: it compares all of this with its record.
public struct PhoneFile: Hashable, Sendable {
    public var user: Int64
    public var file: Int64
    /// Whether the phone's user sent it.
    public var isSent: Bool
    public var path: String
    /// Where the phone keeps it encrypted.
    public var arguments: FileArguments?

    public init(user: Int64, file: Int64, isSent: Bool, path: String, arguments: FileArguments?) {
        self.user = user
        self.file = file
        self.isSent = isSent
        self.path = path
        self.arguments = arguments
    }

    fileprivate var json: String {
        let keys = arguments.map {
            JSONText.object([
                "fileKey": JSONText.string(Base64URL.encode($0.key)),
                "fileNonce": JSONText.string(Base64URL.encode($0.nonce)),
            ])
        }
        return JSONText.object([
            "userId": String(user), "fileId": String(file), "sent": isSent ? "true" : "false",
            "fileSource": JSONText.object(present: [
                "filePath": JSONText.string(path), "cryptoArgs": keys,
            ]),
        ])
    }
}

/// The four things that a phone can be asked.
public enum PhoneRequest: Hashable, Sendable {
    /// `retry` counts the repetitions of a command. Each one gives the phone more time for the network.
    case command(PhoneCommand, retry: Int)
    /// The next event, or none after this time.
    case nextEvent(Duration)
    /// The file follows as the attachment. Its name is one path component; the phone makes it unique.
    case storeFile(name: String, size: UInt64, digest: [UInt8])
    case fetchFile(PhoneFile)

    /// The maximum silence of the phone while it waits for an event: it gives up a request after 60 silent seconds.
    public static let longestWait = Duration.seconds(30)

    /// - Throws: `.configuration` for an invalid name.
    func json() throws(RemoteControlError) -> [UInt8] {
        let text: String
        switch self {
        case .command(let command, let retry):
            text = JSONText.object([
                "type": #""send""#, "command": JSONText.string(command.text),
                "retryNumber": String(max(0, retry)),
            ])
        case .nextEvent(let wait):
            let microseconds = Int64(min(max(wait, .zero), Self.longestWait) / .microseconds(1))
            text = JSONText.object(["type": #""recv""#, "wait": String(microseconds)])
        case .storeFile(let name, let size, let digest):
            guard PhoneFileName.isClean(name) else {
                throw RemoteControlError(.configuration, "A file for the phone has no usable name.")
            }
            text = JSONText.object([
                "type": #""storeFile""#, "fileName": JSONText.string(name), "fileSize": String(size),
                "fileDigest": JSONText.string(Base64URL.encode(digest)),
            ])
        case .fetchFile(let file):
            text = JSONText.object(["type": #""getFile""#, "file": file.json])
        }
        return Array(text.utf8)
    }
}
