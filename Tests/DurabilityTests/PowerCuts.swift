import Glibc
import Posix
import TestSupport

/// Cuts the power at every step of a day and checks each result.
struct PowerCuts {
    let day: DayTrace
    /// The folder for disk states, a few at a time.
    let folder: String
    /// One of this many states is also mounted, because a daemon starts far more slowly than its parts.
    var mountEvery = 50

    /// The number of concurrent recoveries, which mostly wait for threads and the disk.
    private static let width = 6

    private struct Cut {
        let description: String
        let state: [String: [UInt8]]
        let promises: Promises
    }

    /// Repeats the day with other lost changes until enough different states were tried or were wrong. Reports
    /// violations with the seed and step that reproduce them.
    /// - Returns: The number of tried states.
    func `try`(states wanted: Int, wrong limit: Int = 20, tell: (String) -> Void) async throws -> Int {
        var told = 0
        try check("make a folder") { mkdir(folder, 0o700) }
        return try await withThrowingTaskGroup(of: String?.self) { group in
            var started = 0
            func takeOne() async throws {
                if let problem = try await group.next() ?? nil {
                    told += 1
                    tell(problem)
                }
            }
            try await forEachCut(upTo: wanted) { cut in
                if started >= Self.width { try await takeOne() }
                // A unique number for its folder, which the recovery removes at its end.
                let place = "\(folder)/\(started)"
                started += 1
                let mounts = (started - 1) % mountEvery == 0
                group.addTask { try await Self.problem(after: cut, in: place, mounts: mounts) }
                return told < limit
            }
            for _ in 0..<min(started, Self.width) { try await takeOne() }
            return started
        }
    }

    /// - Parameter mounts: Whether the daemon mounts a copy of the state too.
    private static func problem(after cut: Cut, in place: String, mounts: Bool) async throws -> String? {
        try DiskTree.write(cut.state, to: place)
        var problems = await Recovery(folder: place).problems(cut.promises)
        try DiskTree.remove(place)
        if mounts {
            try DiskTree.write(cut.state, to: place)
            problems += await Remount(folder: place).problems(cut.promises).map { "mounted: \($0)" }
            try DiskTree.remove(place)
        }
        return problems.isEmpty ? nil : "\(cut.description): \(problems.joined(separator: "; "))"
    }

    /// Calls `body` with different states until there were `wanted` or it has enough.
    private func forEachCut(upTo wanted: Int, _ body: (Cut) async throws -> Bool) async throws {
        var seen: Set<Int> = []
        // A short run takes longer steps, with another start each time.
        let stride = max(1, day.operations.count / max(1, wanted / 3))
        for round in 0..<10_000 {
            var generator = SeededGenerator(state: UInt64(round))
            var disk = DiskModel(day.beginning)
            var promises = Promises()
            for (step, operation) in day.operations.enumerated() {
                disk.perform(operation)
                if case .promise(let text) = operation, let promise = Promise(text) { promises.add(promise) }
                guard step % stride == round % stride else { continue }
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
                let cut = Cut(
                    description: "round \(round), step \(step) (\(operation.kindName))", state: state,
                    promises: promises)
                guard try await body(cut), seen.count < wanted else { return }
            }
        }
    }
}

extension DiskOperation {
    /// Without contents.
    fileprivate var kindName: String {
        switch self {
        case .write(let file, let offset, let bytes): "write \(bytes.count) at \(offset) of \(file)"
        default: "\(self)"
        }
    }
}
