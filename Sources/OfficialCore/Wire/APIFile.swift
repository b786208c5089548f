import Base
import ChatCore
import JSON

/// A file's path from the core, absolute or relative to its files folder. With arguments the file is a
/// CryptoFile.
public struct APIFileSource: Hashable, Sendable {
    public var path: String
    public var arguments: FileArguments?

    /// Returns nil for an empty path, or one outside the files folder.
    init?(_ json: JSONValue) {
        guard let path = json["filePath"]?.string, !path.isEmpty, !path.utf8.contains(0),
            path.isAbsolutePath || !path.pathNames.contains("..")
        else { return nil }
        self.path = path
        if let secret = json["cryptoArgs"] {
            guard let key = secret["fileKey"]?.string.flatMap({ Base64URL.decode($0) }), key.count == 32,
                let nonce = secret["fileNonce"]?.string.flatMap({ Base64URL.decode($0) }), nonce.count == 24
            else { return nil }
            arguments = FileArguments(key: key, nonce: nonce)
        }
    }

    /// Returns the location, given the core's files folder.
    public func location(filesFolder: String) -> FileSourceLocation {
        FileSourceLocation(
            path: path.isAbsolutePath ? path : filesFolder + "/" + path, arguments: arguments)
    }
}

/// The file of an item (`CIFile`).
public struct APIFile: Hashable, Sendable {
    public var id: FileID
    public var name: String
    /// Bytes of plaintext.
    public var size: UInt64
    public var status: FileStatus
    public var transport: ChatFile.Transport
    public var source: APIFileSource?

    init?(_ json: JSONValue) {
        guard let id = FileID(api: json), let size = json["fileSize"]?.integer, size >= 0 else { return nil }
        self.id = id
        name = json["fileName"]?.string ?? ""
        self.size = UInt64(size)
        status = json["fileStatus"].map(FileStatus.init(api:)) ?? .rcvInvitation(described: false)
        // 6.4 writes these names in lower case, some descriptions of 7.0 in upper case.
        transport = (json["fileProtocol"]?.string?.lowercased()).flatMap(ChatFile.Transport.init) ?? .xftp
        source = json["fileSource"].flatMap(APIFileSource.init)
        // The core stores any size from the sender.
        if self.size > FilePolicy.standaloneLimit, !status.isReadable {
            (self.size, status) = (FilePolicy.standaloneLimit, .rcvError(.tooLargeToReceive))
        }
    }

    /// Converts to ChatFS's type.
    /// - Parameter time: Time of the message, which is sent when the upload starts.
    public func chatFile(filesFolder: String, of time: Timestamp) -> ChatFile {
        ChatFile(
            id: id, name: name, size: size, status: status, transport: transport,
            source: source?.location(filesFolder: filesFolder),
            expires: ChatFile.expiry(transport, of: time))
    }
}

extension FileStatus {
    /// `CIFileStatus`. Only `rcvFileDescrReady` tells whether an invitation is described.
    init(api json: JSONValue) {
        func problem(_ key: StaticString) -> FileProblem {
            json[key].map { APIError($0).fileProblem }
                ?? FileProblem(.other, "The SimpleX core gave up this file.")
        }
        switch json.type {
        case "sndStored": self = .sndStored
        case "sndTransfer":
            self = .sndTransfer(sent: json["sndProgress"]?.size ?? 0, total: json["sndTotal"]?.size ?? 1)
        case "sndComplete": self = .sndComplete
        case "sndCancelled": self = .sndCancelled
        case "sndError": self = .sndError(problem("sndFileError"))
        case "sndWarning": self = .sndWarning(problem("sndFileError"))
        case "rcvInvitation": self = .rcvInvitation(described: false)
        case "rcvAccepted": self = .rcvAccepted
        case "rcvTransfer":
            self = .rcvTransfer(
                received: json["rcvProgress"]?.size ?? 0, total: json["rcvTotal"]?.size ?? 1)
        case "rcvAborted": self = .rcvAborted(.relaysNotApproved)
        case "rcvComplete": self = .rcvComplete
        case "rcvCancelled": self = .rcvCancelled
        case "rcvError": self = .rcvError(problem("rcvFileError"))
        case "rcvWarning": self = .rcvWarning(problem("rcvFileError"))
        default:
            self = .rcvError(
                FileProblem(.other, "The SimpleX core reports an unknown state of this file."))
        }
    }
}

/// The description of a file, as far as the core has it. A secret, never printed.
public struct APIFileDescription: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// YAML (`FileDescription` of XFTP), or its beginning while parts are missing.
    public var text: String
    public var isComplete: Bool

    init?(_ json: JSONValue) {
        guard let text = json["fileDescrText"]?.string else { return nil }
        self.text = text
        isComplete = json["fileDescrComplete"]?.bool ?? false
    }

    public var description: String { "APIFileDescription(…)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A file being received (`rcvFileTransfer`).
public struct APIReceivedFile: Hashable, Sendable {
    public var id: FileID
    public var description: APIFileDescription?
    /// Target path of a standalone file.
    public var path: String?

    init?(_ json: JSONValue) {
        guard let id = FileID(api: json) else { return nil }
        self.id = id
        description = json["xftpRcvFile"]?["rcvFileDescription"].flatMap(APIFileDescription.init)
        // Nested in 6.4, flat later.
        let status = json["fileStatus"]
        path = (status?["fileInfo"]?["filePath"] ?? status?["filePath"])?.string
    }
}

extension FileID {
    /// Reads `fileId` of a file.
    init?(api json: JSONValue) {
        guard let id = json["fileId"]?.integer, id > 0 else { return nil }
        self.init(id)
    }
}
