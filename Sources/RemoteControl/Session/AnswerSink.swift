import Cryptography
import Network

/// Receives one answer on the connection's thread: keeps its JSON and passes its attachment on, which must match the
/// JSON.
final class AnswerSink: BodySink, @unchecked Sendable {
    // Safe: only the connection's thread accesses the state until `send` returns, then only the task.
    private let file: (any BodySink)?
    private let keys: @Sendable (UInt32) throws -> MessageKeys
    private var reader: ResponseReader
    private var answer: PhoneAnswer?
    private var digest = SHA512()
    private var hasFile = false

    init(
        channelBinding: [UInt8], file: (any BodySink)?,
        keys: @escaping @Sendable (UInt32) throws -> MessageKeys
    ) {
        self.file = file
        self.keys = keys
        reader = ResponseReader(channelBinding: channelBinding)
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws {
        var taken: [ResponseReader.Part] = []
        try reader.receive(bytes, keys: keys) { taken.append($0) }
        for part in taken { try take(part) }
    }

    private func take(_ part: ResponseReader.Part) throws {
        switch part {
        case .json(let text): answer = try PhoneAnswer(text)
        case .attachment(let size):
            guard case .file(let announced, _)? = answer, announced == size else {
                throw RemoteControlError(.malformed, "The phone's file is not the announced one.")
            }
            hasFile = true
        case .content(let bytes):
            digest.update(bytes)
            try bytes.withUnsafeBytes { bytes in try file?.receive(bytes) }
        }
    }

    /// Returns the complete answer after checking its file.
    func finish() throws(RemoteControlError) -> PhoneAnswer {
        guard let answer else {
            throw RemoteControlError(.malformed, "The phone's answer is empty.")
        }
        try reader.finish()
        if case .file(_, let announced) = answer {
            guard hasFile, digest.finalize() == announced else {
                throw RemoteControlError(.notAuthentic, "A file from the phone is not the announced one.")
            }
        }
        return answer
    }
}
