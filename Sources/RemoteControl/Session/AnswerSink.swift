import Base
import Cryptography
import Network

/// Receives one answer on the connection's thread: keeps its JSON and passes its attachment on, which must match the
/// JSON.
final class AnswerSink: BodySink {
    private struct State {
        var reader: ResponseReader
        var answer: PhoneAnswer?
        var digest = SHA512()
        var hasFile = false
    }

    private let file: (any BodySink)?
    private let keys: @Sendable (UInt32) throws -> MessageKeys
    /// Nil during its use, so that it is not copied.
    private let state: Lock<State?>

    init(
        channelBinding: [UInt8], file: (any BodySink)?,
        keys: @escaping @Sendable (UInt32) throws -> MessageKeys
    ) {
        self.file = file
        self.keys = keys
        state = Lock(State(reader: ResponseReader(channelBinding: channelBinding)))
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws {
        // Only the connection's thread calls this. The file may block, so no lock is held meanwhile.
        guard var state = takeState() else { return }
        defer { self.state.withLock { [state] in $0 = state } }
        var taken: [ResponseReader.Part] = []
        try state.reader.receive(bytes, keys: keys) { taken.append($0) }
        for part in taken { try take(part, &state) }
    }

    private func takeState() -> State? {
        state.withLock { state in
            defer { state = nil }
            return state
        }
    }

    private func take(_ part: ResponseReader.Part, _ state: inout State) throws {
        switch part {
        case .json(let text): state.answer = try PhoneAnswer(text)
        case .attachment(let size):
            guard case .file(let announced, _)? = state.answer, announced == size else {
                throw RemoteControlError(.malformed, "The phone's file is not the announced one.")
            }
            state.hasFile = true
        case .content(let bytes):
            state.digest.update(bytes)
            try bytes.withUnsafeBytes { bytes in try file?.receive(bytes) }
        }
    }

    /// Returns the complete answer after checking its file.
    func finish() throws(RemoteControlError) -> PhoneAnswer {
        guard let state = takeState(), let answer = state.answer else {
            throw RemoteControlError(.malformed, "The phone's answer is empty.")
        }
        try state.reader.finish()
        if case .file(_, let digest) = answer {
            guard state.hasFile, state.digest.finalize() == digest else {
                throw RemoteControlError(.notAuthentic, "A file from the phone is not the announced one.")
            }
        }
        return answer
    }
}
