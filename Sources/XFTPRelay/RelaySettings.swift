import Base
import Cryptography
import Network

/// What a relay is told at its start.
public struct RelaySettings: Sendable {
    /// Made when missing, mode 0700: certificates, records and chunks.
    public var folder: String
    /// With which the records are encrypted; nil: they are not.
    public var key: SecretBytes?
    /// Port 0 takes the port of the last time when it is still free, else any.
    public var listen: Endpoint
    /// What its address names; nil: the host on which it listens.
    public var host: String?
    /// Bytes of chunks and of the records about them in all, nil for no limit but the disk.
    public var quota: UInt64?
    /// Holds the smallest chunk and its record.
    public static let minQuota: UInt64 = 65 << 10
    /// Chunks that an address may announce beyond those that it has brought.
    public var maxAnnounced = 8192
    /// Age at which a chunk and its record go.
    public var expiry: Duration
    /// Asked of who creates chunks, nil for nobody. A secret.
    public var password: String?
    /// Algorithm of the certificates made at the first start; nil takes what is there, else Ed25519.
    public var certificate: CertificateKind?
    public var clock: any WallClock
    public var random: any RandomSource
    public var limits: HTTP2ServerLimits

    public init(
        folder: String, listen: Endpoint = Endpoint(host: "127.0.0.1", port: 0), quota: UInt64? = nil,
        expiry: Duration = .seconds(48 * 3600), password: String? = nil, certificate: CertificateKind? = nil,
        clock: any WallClock = SystemWallClock(), random: any RandomSource = SystemRandomSource(),
        limits: HTTP2ServerLimits = .init()
    ) {
        self.folder = folder
        self.listen = listen
        self.quota = quota
        self.expiry = expiry
        self.password = password
        self.certificate = certificate
        self.clock = clock
        self.random = random
        self.limits = limits
    }

    /// Creation times are rounded down to this many seconds, so that the records tell little about
    /// who sent when: an hour as in the official relay, less where chunks live for less than a day.
    var roundingSeconds: Int64 { min(3600, max(1, expiry.components.seconds / 24)) }
}
