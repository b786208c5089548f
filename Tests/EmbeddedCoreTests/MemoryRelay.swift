import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import XFTP

@testable import EmbeddedCore

/// A minimal in-memory relay. Uploads proceed in steps, downloads work by description, and failures can be
/// injected.
final class MemoryRelay: FileTransfers {
    struct State {
        var files: [UInt64: [UInt8]] = [:]
        var uploadsBegun = 0
        var stepsSent = 0
        var recipients: [Int] = []
        var passwords: [String?] = []
        var deleted: [UInt64] = []
        var nextFile: UInt64 = 1
        /// Remaining upload steps; then uploads fail, or wait for cancellation.
        var allowance = Int.max
        var waits = false
        /// Progress reported once more by an upload cancelled while waiting.
        var lateProgress: UInt64?
        var failure = TransferFailure(problem: FileProblem(.unreachable, "No way."), isTemporary: true)
        var downloadFailures: [TransferFailure] = []
        var downloads = 0
        /// Suffix of every recipient description.
        var descriptionEnding = ""
    }

    static let stepSize = 100_000
    static let address = "xftp://\(Base64URL.encode([UInt8](repeating: 5, count: 32)))@relay.example.org:5443"
    static let other = "xftp://\(Base64URL.encode([UInt8](repeating: 6, count: 32)))@127.0.0.1:5443"
    static let relay = RelayWithPassword(address: address, password: "hunter2")

    let state = Lock(State())
    let relayInDescriptions: String

    init(relayInDescriptions: String = MemoryRelay.address) {
        self.relayInDescriptions = relayInDescriptions
    }

    func upload(
        _ order: UploadOrder, checkpoint: @escaping @Sendable ([UInt8]) throws -> Void,
        progress: @escaping @Sendable (UInt64, UInt64) -> Void
    ) async throws(TransferFailure) -> UploadResult {
        let content = try Self.read(order.source)
        var (file, done) = (UInt64(0), 0)
        if let stored = order.state, stored.count == 16 {
            var reader = ByteReader(stored)
            file = reader.integer(UInt64.self) ?? 0
            done = Int(reader.integer(UInt64.self) ?? 0)
        } else {
            file = state.withLock { state in
                state.nextFile += 1
                state.files[state.nextFile] = []
                return state.nextFile
            }
        }
        state.withLock { state in
            state.uploadsBegun += 1
            state.recipients.append(order.recipients)
            state.passwords.append(order.relays.first?.password)
        }
        while done < content.count {
            guard
                state.withLock({ state in
                    state.allowance -= 1
                    return state.allowance >= 0
                })
            else {
                if state.withLock({ $0.waits }) { try? await Task.sleep(for: .seconds(60)) }
                if let late = state.withLock(\.lateProgress) { progress(late, UInt64(content.count)) }
                throw state.withLock { $0.failure }
            }
            let end = min(done + Self.stepSize, content.count)
            state.withLock { [done, file] state in
                state.files[file, default: []] += content[done..<end]
                state.stepsSent += 1
            }
            done = end
            var saved: [UInt8] = []
            saved.append(bigEndian: file)
            saved.append(bigEndian: UInt64(done))
            try? checkpoint(saved)
            progress(UInt64(done), UInt64(content.count))
        }
        return UploadResult(
            senderDescription: description(of: file, .sender, recipient: 0),
            recipientDescriptions: (0..<order.recipients).map {
                description(of: file, .recipient, recipient: UInt64($0))
                    + state.withLock { $0.descriptionEnding }
            })
    }

    func link(
        to description: String, relays: [RelayWithPassword]
    ) async throws(TransferFailure) -> UploadedLink {
        do {
            return UploadedLink(text: FileLink(try FileDescription(parsing: description)).text)
        } catch {
            throw TransferFailure(problem: FileProblem(.damaged, error.sentence), isTemporary: false)
        }
    }

    func download(
        _ order: DownloadOrder, progress: @escaping @Sendable (UInt64, UInt64) -> Void
    ) async throws(TransferFailure) {
        let failure = state.withLock { state -> TransferFailure? in
            state.downloads += 1
            return state.downloadFailures.isEmpty ? nil : state.downloadFailures.removeFirst()
        }
        if let failure {
            // Leaves a partial file, as real transfers do.
            if case .cryptoFile = order.destination {
                try? OpenFile(order.path, flags: O_RDWR | O_CREAT).write([1, 2, 3], at: 0)
            }
            throw failure
        }
        do {
            let text =
                switch order.source {
                case .description(let text): text
                case .link(let link): try FileLink(parsing: link).fileDescription.text
                }
            let content = state.withLock { $0.files[Self.file(in: text)] }
            guard let content else {
                throw TransferFailure(problem: FileProblem(.expired, "Gone."), isTemporary: false)
            }
            progress(UInt64(content.count / 2), UInt64(content.count))
            let file = try OpenFile(order.path, flags: O_RDWR | O_CREAT | O_TRUNC)
            guard case .cryptoFile(let arguments) = order.destination else {
                return try file.write(content, at: 0)
            }
            let writer = try CryptoFileWriter(file: file, arguments: arguments)
            try writer.append(content)
            try writer.finish()
        } catch let error as TransferFailure {
            throw error
        } catch {
            throw TransferFailure(problem: FileProblem(.other, "\(error)"), isTemporary: false)
        }
    }

    func deleteChunks(of uploaded: UploadedChunks) async throws(TransferFailure) {
        let file =
            uploaded.senderDescription.map { Self.file(in: $0) }
            ?? uploaded.state.flatMap { state -> UInt64? in
                var reader = ByteReader(state)
                return reader.integer(UInt64.self)
            }
        guard let file else { return }
        state.withLock { state in
            state.files[file] = nil
            state.deleted.append(file)
        }
    }

    /// Stores a file as if uploaded by another program, and returns a recipient description.
    /// - Parameter size: size in the description; nil for the real size.
    func put(_ content: [UInt8], describing size: Int? = nil) -> String {
        let file = state.withLock { state in
            state.nextFile += 1
            state.files[state.nextFile] = content
            return state.nextFile
        }
        return description(of: file, .recipient, recipient: 0, size: size)
    }

    private func description(
        of file: UInt64, _ party: FileDescription.Party, recipient: UInt64, size: Int? = nil
    ) -> String {
        guard let relay = RelayAddress(relayInDescriptions) else { return "" }
        let key = SigningKey.generate().pkcs8
        let size = size ?? state.withLock { $0.files[file]?.count ?? 0 }
        let chunks = ChunkPlan.sizes(for: UInt64(size) + 2).enumerated().map { index, size in
            var id: [UInt8] = []
            id.append(bigEndian: file)
            id.append(bigEndian: recipient << 32 | UInt64(index))
            return FileDescription.Chunk(
                number: index + 1, size: size, digest: [UInt8](repeating: 1, count: 32),
                replicas: [FileDescription.Replica(relay: relay, id: id, key: key)])
        }
        return FileDescription(
            party: party, digest: [UInt8](repeating: 2, count: 64), key: [UInt8](repeating: 3, count: 32),
            nonce: [UInt8](repeating: 4, count: 24), chunks: chunks
        ).text
    }

    private static func file(in description: String) -> UInt64 {
        guard let id = try? FileDescription(parsing: description).chunks[0].replicas[0].id else { return 0 }
        var reader = ByteReader(id)
        return reader.integer(UInt64.self) ?? 0
    }

    private static func read(_ source: UploadOrder.Source) throws(TransferFailure) -> [UInt8] {
        do {
            switch source {
            case .plain(let path): return try OpenFile(path, flags: O_RDONLY).readAll(limit: 1 << 24)
            case .cryptoFile(let path, let arguments):
                var bytes: [UInt8] = []
                try CryptoFileReader(file: OpenFile(path, flags: O_RDONLY), arguments: arguments)
                    .decrypt { bytes.append(contentsOf: $0) }
                return bytes
            }
        } catch {
            throw TransferFailure(problem: FileProblem(.damaged, "\(error)"), isTemporary: false)
        }
    }
}
