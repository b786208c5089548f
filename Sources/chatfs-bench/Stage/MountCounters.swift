import Glibc
import Posix

/// What a mount of chatfs says of itself in `.chatfs/status.json`.
struct MountCounters: Sendable {
    let mount: Mounted

    /// Decrypted bytes in the cache.
    func cachedBytes() async throws -> Int { try await number("cachedBytes") }

    /// How many requests of the kernel reach the daemon while `work` goes on. Asking makes some itself, so
    /// these are counted alone first.
    func requests<Result: Sendable>(
        while work: @escaping @Sendable () throws -> Result
    ) async throws -> (result: Result, count: Int) {
        let before = try await number("requests")
        let between = try await number("requests")
        let result = try await ThreadPool.shared.run(work)
        let after = try await number("requests")
        return (result, (after - between) - (between - before))
    }

    private func number(_ key: String) async throws -> Int {
        // The release of a file that was just closed is still on its way.
        try await Task.sleep(for: .milliseconds(50))
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

    /// The number behind a key of the outermost object.
    static func number(_ key: String, in text: String) -> Int? {
        let parts = text.split(separator: "\"\(key)\"")
        guard parts.count == 2 else { return nil }
        return Int(parts[1].drop { $0 == " " || $0 == ":" }.prefix(while: \.isNumber))
    }
}
