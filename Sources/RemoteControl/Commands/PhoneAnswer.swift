import Base
import Cryptography
import JSON

/// An answer of the phone.
public enum PhoneAnswer: Sendable {
    /// To a command: the response of the chat API.
    case response(JSONValue)
    /// To a command or in place of a file: the chat API's error, without a wrapper.
    case refusal(JSONValue)
    /// The next event, or nil if none came in time.
    case event(JSONValue?)
    /// An event that is an error.
    case failedEvent(JSONValue)
    /// The path of the stored file, relative to the phone's files folder.
    case stored(path: String)
    /// The size of the following attachment, and its SHA-512.
    case file(size: UInt64, digest: [UInt8])
    /// The phone could not process the request.
    case failure(PhoneFailure)

    /// - Parameter text: JSON in either encoding of alternatives.
    /// - Throws: `.malformed` for other texts.
    init(_ text: [UInt8]) throws(RemoteControlError) {
        guard let answer = OneFieldObjects.tagged(text).flatMap(JSONValue.parse),
            let read = Self.read(answer)
        else {
            throw RemoteControlError(.malformed, "The phone's answer is unknown.")
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
        // The app's spelling.
        case "protocolError": return answer["remoteProcotolError"].map { .failure(PhoneFailure($0)) }
        default: return nil
        }
    }
}

/// The reason for which a phone could not process a request. The session continues.
public enum PhoneFailure: Hashable, Sendable {
    /// The phone no longer has the keys or signatures of this session.
    case notAuthentic
    /// The phone's app does not know the request.
    case unknownRequest
    /// The stored file differs from its announcement, or is missing.
    case damagedFile
    /// The phone could not read or write a file. Its message may contain paths and is never shown.
    case file
    /// The same, because its disk is full.
    case noSpace
    /// Too many requests were lost.
    case lostRequests
    case other

    init(_ error: JSONValue) {
        switch error.type {
        case "pRERemoteControl", "pRESessionCode": self = .notAuthentic
        case "invalidJSON", "unexpectedResponse": self = .unknownRequest
        case "fileSize", "fileDigest", "noFile": self = .damagedFile
        case "exception":
            let isFull = error["someException"]?.string?.contains("No space left") == true
            self = isFull ? .noSpace : .file
        case "manySkippedIds", "pREDuplicateId": self = .lostRequests
        default: self = .other
        }
    }
}
