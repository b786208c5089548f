import Base
import SMP
import XFTP

/// The operators of the official apps' default relays.
enum RelayOperator: String, CaseIterable, Sendable {
    case simplex, flux

    var name: String {
        switch self {
        case .simplex: "SimpleX Chat Ltd"
        case .flux: "InFlux Technologies Limited (Flux)"
        }
    }

    /// URL of the conditions, the same for both.
    static let conditions = "https://simplex.chat/privacy/"

    private var domain: String {
        switch self {
        case .simplex: "simplex.im"
        case .flux: "simplexonflux.com"
        }
    }

    /// Returns the operators' servers that own servers of the same kind replace.
    /// - Parameter own: The newly given servers.
    static func replaced(by own: [AnyRelay], in known: [AnyRelay]) -> [AnyRelay] {
        let presets = Set(allCases.flatMap(\.relays).map(\.text))
        // Naming an operator's server replaces nothing.
        let kinds = Set(own.filter { !presets.contains($0.text) }.map(\.isForFiles))
        return known.filter {
            kinds.contains($0.isForFiles) && presets.contains($0.text) && !own.contains($0)
        }
    }

    /// Relays for new queues and for files.
    var relays: [AnyRelay] {
        PresetServers.forNewQueues(domain: domain).map(AnyRelay.messages) + files.map(AnyRelay.files)
    }

    private var files: [RelayAddress] {
        fileFingerprints.enumerated().compactMap { index, fingerprint in
            RelayAddress("xftp://\(fingerprint)@xftp\(index + 1).\(domain)")
        }
    }

    /// Fingerprints of xftp1, xftp2, …
    private var fileFingerprints: [String] {
        switch self {
        case .simplex:
            [
                "da1aH3nOT-9G8lV7bWamhxpDYdJ1xmW7j3JpGaDR5Ug=",
                "5vog2Imy1ExJB_7zDZrkV1KDWi96jYFyy9CL6fndBVw=",
                "PYa32DdYNFWi0uZZOprWQoQpIk5qyjRJ3EF7bVpbsn8=",
                "k_GgQl40UZVV0Y4BX9ZTyMVqX5ZewcLW0waQIl7AYDE=",
                "-bIo6o8wuVc4wpZkZD3tH-rCeYaeER_0lz1ffQcSJDs=",
                "6nSvtY9pJn6PXWTAIMNl95E1Kk1vD7FM2TeOA64CFLg=",
            ]
        case .flux:
            [
                "92Sctlc09vHl_nAqF2min88zKyjdYJ9mgxRCJns5K2U=",
                "YBXy4f5zU1CEhnbbCzVWTNVNsaETcAGmYqGNxHntiE8=",
                "ARQO74ZSvv2OrulRF3CdgwPz_AMy27r0phtLSq5b664=",
                "ub2jmAa9U0uQCy90O-fSUNaYCj6sdhl49Jh3VpNXP58=",
                "Rh19D5e4Eez37DEE9hAlXDB3gZa1BdFYJTPgJWPO9OI=",
                "0AznwoyfX8Od9T_acp1QeeKtxUi676IBIiQjXVwbdyU=",
            ]
        }
    }
}
