/// The place of bytes that the core does not keep.
public enum CacheMode: String, CaseIterable, Sendable {
    /// On disk, encrypted as on the relays.
    case sealed
    /// As `sealed` until a file is complete; then also a decrypted copy: fastest, for encrypted disks. It is
    /// unlinked, but after a crash its bytes may remain on the disk.
    case plain
    /// In memory, up to the cache's limit, or 64 MiB without a limit. A file that is received whole goes to
    /// the disk, for the core.
    case memory
}
