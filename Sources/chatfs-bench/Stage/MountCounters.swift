import Glibc
import Posix

/// The counters of a mount in `.chatfs/status.json`.
struct MountCounters: Sendable {
    let mount: Mounted

    /// The decrypted bytes in the cache.
    func cachedBytes() async throws -> Int { try await number("cachedBytes") }

    /// Returns the number of kernel requests that reach the daemon during `work`. A query makes a constant number of
    /// requests itself, but the last may come late, so it repeats until that number shows.
    func requests<Result: Sendable>(
        while work: @escaping @Sendable () throws -> Result
    ) async throws -> (result: Result, count: Int) {
        let before = try await settledRequests(cost: nil)
        let result = try await ThreadPool.shared.run(work)
        let after = try await settledRequests(cost: before.cost)
        return (result, after.number - before.number - after.readings * before.cost)
    }

    /// Repeats until a query costs as much as before (`cost`, otherwise the previous cost), at most twenty times.
    private func settledRequests(
        cost expected: Int?
    ) async throws -> (number: Int, readings: Int, cost: Int) {
        var number = try await number("requests")
        var cost = expected
        for readings in 2...20 {
            let next = try await self.number("requests")
            let difference = next - number
            number = next
            if difference == cost { return (number, readings, difference) }
            if expected == nil { cost = difference }
        }
        throw BenchError(.failed, "The mount's count of requests does not come to rest.")
    }

    private func number(_ key: String) async throws -> Int {
        // The release of a just closed file is still pending.
        try await Task.sleep(for: .milliseconds(20))
        let path = mount.file(".chatfs/status.json")
        let text = try await ThreadPool.shared.run {
            let file = try OpenFile(path, flags: O_RDONLY)
            return String(decoding: try file.read(count: 1 << 20, at: 0), as: UTF8.self)
        }
        guard let number = Self.number(key, in: text) else {
            throw BenchError(.failed, "The mount does not tell \"\(key)\".")
        }
        return number
    }

    /// Returns the number for a key of the outermost object.
    static func number(_ key: String, in text: String) -> Int? {
        let parts = text.split(separator: "\"\(key)\"")
        guard parts.count == 2 else { return nil }
        return Int(parts[1].drop { $0 == " " || $0 == ":" }.prefix(while: \.isNumber))
    }
}
