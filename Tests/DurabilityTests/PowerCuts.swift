import Foundation
import TestSupport

/// Cuts the power at every step of a day, in turn, and looks at what each leaves.
struct PowerCuts {
    let day: DayTrace
    /// States are laid out here, one after the other.
    let folder: String

    /// Goes through the day again and again, with other changes lost each time, until so many different states have
    /// been tried. What is wrong is told with the seed and step that show it again.
    func `try`(states wanted: Int, tell: (String) -> Void) async throws -> Int {
        var seen: Set<Int> = []
        var round: UInt64 = 0
        var told = 0
        // A short run steps over the day in longer strides, begun elsewhere each time.
        let stride = max(1, day.operations.count / max(1, wanted / 3))
        while seen.count < wanted, round < 10_000, told < 20 {
            var generator = SeededGenerator(state: round)
            var disk = DiskModel(day.beginning)
            var promises = Promises()
            for (step, operation) in day.operations.enumerated() {
                disk.perform(operation)
                if case .promise(let text) = operation, let promise = Promise(text) { promises.add(promise) }
                guard step % stride == Int(round) % stride, seen.count < wanted, told < 20 else { continue }
                let survival: DiskModel.Survival =
                    switch round {
                    case 0: .nothing
                    case 1: .everything
                    default: .some
                    }
                let state = disk.state(survival, using: &generator)
                var hasher = Hasher()
                hasher.combine(state)
                hasher.combine(promises.kinds)
                guard seen.insert(hasher.finalize()).inserted else { continue }
                try DiskTree.write(state, to: folder)
                let problems = await Recovery(folder: folder).problems(promises)
                if !problems.isEmpty {
                    told += 1
                    tell(
                        "round \(round), step \(step) (\(operation.kindName)): \(problems.joined(separator: "; "))"
                    )
                }
            }
            round += 1
        }
        return seen.count
    }
}

extension DiskOperation {
    /// Without bytes.
    fileprivate var kindName: String {
        switch self {
        case .write(let file, let offset, let bytes): "write \(bytes.count) at \(offset) of \(file)"
        default: "\(self)"
        }
    }
}
