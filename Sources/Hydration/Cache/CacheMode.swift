/// The place of decrypted blocks while a file is read.
public enum CacheMode: String, CaseIterable, Sendable {
    /// On disk, each block sealed with a key that exists only in this process.
    case sealed
    /// On disk in clear: fastest, for encrypted disks. The files are unlinked, but after a crash their bytes
    /// may remain on the disk.
    case plain
    /// In memory, up to the cache's limit, or 64 MiB without a limit.
    case memory
}
