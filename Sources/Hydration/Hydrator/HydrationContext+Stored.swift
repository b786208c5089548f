import ChatCore
import Posix

/// Opening of complete copies.
extension HydrationContext {
    /// Returns the verified copy of the core. In the plain cache mode a plain copy, if there is space.
    /// - Parameter progress: Called as the verification proceeds.
    func openStored(
        _ source: FileSourceLocation, size: UInt64, for file: CachedFile,
        progress: @escaping @Sendable () -> Void
    ) async throws -> WholeContent {
        if settings.cacheMode == .plain, let arguments = source.arguments {
            do {
                if let cached = try await onPool({ try self.makeFile(size, for: file) }) {
                    return WholeContent(
                        .copy(
                            try await PlainCopy.decrypting(
                                source.path, arguments, size: size, into: cached, usage: cache.usage,
                                progress: progress)))
                }
            } catch let error as HydrationError where error.code == .cache {
                // A cache error does not concern the stored file.
                failures.log.notice(
                    "file not copied into the cache, reading the stored copy: error=" + error.sentence)
            }
        }
        return try await WholeContent.open(
            source, of: file.id, size: size, verified: verified, progress: progress)
    }

    /// Returns nil if there is no space.
    private func makeFile(_ size: UInt64, for file: CachedFile) throws(HydrationError) -> OpenFile? {
        guard reserveCapacity(size, for: file) else { return nil }
        do throws(SystemError) {
            return try cache.makeFile()
        } catch {
            throw HydrationError(cacheFile: error)
        }
    }
}
