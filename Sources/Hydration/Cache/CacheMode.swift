/// Where decrypted blocks lie while a file is being read.
public enum CacheMode: String, CaseIterable, Sendable {
    /// On disk, each block sealed with a key that exists only in this process.
    case sealed
    /// On disk as they are: the last bit of speed, for disks that are encrypted anyway. The files have
    /// no names, but after a crash their bytes may be found on the disk.
    case plain
    /// In memory only, up to the cache's limit, or 64 MiB without one.
    case memory
}
