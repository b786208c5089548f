import ChatCore

@testable import Hydration

extension HydratedFile {
    /// What a reader gets: at once when it is here, otherwise after waiting.
    func bytes(_ range: Range<UInt64>, deadline: Duration = .seconds(60)) async throws -> [UInt8] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(range.count, 1), alignment: 1)
        defer { buffer.deallocate() }
        switch read(range, into: buffer) {
        case .filled(let count): return Array(buffer[..<count])
        case .failed(let problem): throw ReadFailure(problem: problem)
        case .notYet: break
        }
        switch await read(range, into: buffer, deadline: deadline) {
        case .filled(let count): return Array(buffer[..<count])
        case .failed(let problem): throw ReadFailure(problem: problem)
        case .cancelled: throw CancellationError()
        }
    }

    func immediate(_ range: Range<UInt64>) -> ImmediateRead {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(range.count, 1), alignment: 1)
        defer { buffer.deallocate() }
        return read(range, into: buffer)
    }
}

struct ReadFailure: Error {
    var problem: FileProblem
}
