import Base
import Cryptography
import JSON

/// What the phone answered.
public enum PhoneAnswer: Sendable {
    /// To a command: what the chat API has as its response.
    case response(JSONValue)
    /// To a command, or instead of a file: the chat API's error, without a wrapper.
    case refusal(JSONValue)
    /// The next event; nil: none came in time.
    case event(JSONValue?)
    /// An event that is an error.
    case failedEvent(JSONValue)
    /// Where the file was stored, relative to the phone's folder of files.
    case stored(path: String)
    /// The size of the attachment that follows, and its SHA-512.
    case file(size: UInt64, digest: [UInt8])
    /// The phone could not take the request itself.
    case failure(PhoneFailure)

    /// - Parameter text: JSON in either form of alternatives.
    /// - Throws: `.malformed` for anything else.
    init(_ text: [UInt8]) throws(RemoteControlError) {
        guard let answer = OneFieldObjects.tagged(text).flatMap(JSONValue.parse),
            let read = Self.read(answer)
        else {
            throw RemoteControlError(.malformed, "The phone's answer is none that this program knows.")
        }
        self = read
    }

    private static func read(_ answer: JSONValue) -> PhoneAnswer? {
        switch answer["type"]?.string {
        case "chatResponse":
            if let result = answer["chatResponse"]?["result"] { return .response(result) }
            return answer["chatResponse"]?["error"].map { .refusal($0) }
        case "chatEvent":
            guard let event = answer["chatEvent"] else { return .event(nil) }
            if let result = event["result"] { return .event(result) }
            return event["error"].map { .failedEvent($0) }
        case "fileStored": return answer["filePath"]?.string.map { .stored(path: $0) }
        case "file":
            guard let size = answer["fileSize"]?.integer, size >= 0,
                let digest = answer["fileDigest"]?.string.flatMap(Base64URL.decode),
                digest.count == SHA512.length
            else { return nil }
            return .file(size: UInt64(size), digest: digest)
        // So the app spells it.
        case "protocolError": return answer["remoteProcotolError"].map { .failure(PhoneFailure($0)) }
        default: return nil
        }
    }
}

/// Why a phone could not take a request. The session goes on.
public enum PhoneFailure: Hashable, Sendable {
    /// The keys or signatures of this session are not the phone's any more.
    case notAuthentic
    /// The phone's app does not know such a request.
    case unknownRequest
    /// What was stored is not what was announced: its size, its digest, or there was nothing.
    case damagedFile
    /// The phone could not read or write a file. What it says of it may hold paths, and is never shown.
    case file
    /// Too many requests were lost on the way.
    case lostRequests
    case other

    init(_ error: JSONValue) {
        switch error.type {
        case "pRERemoteControl", "pRESessionCode": self = .notAuthentic
        case "invalidJSON", "unexpectedResponse": self = .unknownRequest
        case "fileSize", "fileDigest", "noFile": self = .damagedFile
        case "exception": self = .file
        case "manySkippedIds", "pREDuplicateId": self = .lostRequests
        default: self = .other
        }
    }
}
