import Base
import Cryptography
import Network

/// The settings of a relay.
public struct RelaySettings: Sendable {
    /// The folder for certificates, records and chunks. Created with mode 0700 if missing.
    public var folder: String
    /// The encryption key of the records, or nil for plain records.
    public var key: SecretBytes?
    /// Port 0 means the previous port if it is free, otherwise any.
    public var listen: Endpoint
    /// The host in the relay's address, or nil for the listening host.
    public var host: String?
    /// The maximum bytes of chunks and records, or nil for no limit.
    public var quota: UInt64?
    /// The smallest quota: one chunk of the smallest size and its record.
    public static let minQuota: UInt64 = 65 << 10
    /// The maximum number of created chunks without upload for each address.
    public var maxAnnounced = 8192
    /// The age at which a chunk and its record are deleted.
    public var expiry: Duration
    /// The password for creating chunks, or nil if none is required. Secret.
    public var password: String?
    /// The algorithm of new certificates, or nil for the existing ones, by default Ed25519.
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

    /// The granularity of creation times in seconds, which hides the time of a transfer: an hour as in the official
    /// relay, less if chunks expire within a day.
    var roundingSeconds: Int64 { min(3600, max(1, expiry.components.seconds / 24)) }
}
