import Base
import ChatCore

@testable import Hydration

extension HydratedFile {
    /// Reads at once if local, otherwise after waiting.
    func bytes(_ range: Range<UInt64>, timeout: Duration = .seconds(60)) async throws -> [UInt8] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(range.count, 1), alignment: 1)
        defer { buffer.deallocate() }
        switch read(range, into: buffer) {
        case .filled(let count): return Array(buffer[..<count])
        case .ready(let ready): return Array(ready.bytes)
        case .failed(let problem): throw ReadFailure(problem: problem)
        case .pending, .cancelled: break
        }
        switch await read(range, into: ReadBuffer(buffer), timeout: timeout) {
        case .filled(let count): return Array(buffer[..<count])
        case .failed(let problem): throw ReadFailure(problem: problem)
        case .cancelled: throw CancellationError()
        case .ready, .pending:
            throw ReadFailure(problem: FileProblem(.other, "No answer of a read that waits."))
        }
    }

    /// Reads without waiting.
    func immediate(_ range: Range<UInt64>) -> Immediate {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(range.count, 1), alignment: 1)
        defer { buffer.deallocate() }
        return switch read(range, into: buffer) {
        case .filled(let count): .filled(count)
        case .ready(let ready): .filled(ready.bytes.count)
        case .failed(let problem): .failed(problem)
        case .pending, .cancelled: .pending
        }
    }
}

enum Immediate: Hashable {
    case filled(Int)
    case failed(FileProblem)
    case pending
}

struct ReadFailure: Error {
    var problem: FileProblem
}
