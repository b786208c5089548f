import Base

/// The servers known to every SimpleX client. Short links name them by host alone. ChatFS connects to none of them
/// because of this list.
public enum PresetServers {
    /// Returns nil for any other host.
    static func address(host: String) -> ServerAddress? { known[host.lowercased()] }

    /// Returns the servers of a domain that accept new queues, for a user who chose that domain.
    public static func forNewQueues(domain: String) -> [ServerAddress] {
        fingerprints.compactMap { host, _ in
            host.hasSuffix("." + domain) && !onlyForLinks.contains(host) ? known[host] : nil
        }
    }

    private static let onlyForLinks: Set<String> = [
        "smp4.simplex.im", "smp5.simplex.im", "smp6.simplex.im", "smp7.simplex.im",
    ]

    /// Includes servers without new queues, because existing links name them.
    private static let known: [String: ServerAddress] = {
        var known: [String: ServerAddress] = [:]
        for (host, fingerprint) in fingerprints {
            known[host] = Base64URL.decode(fingerprint).flatMap {
                ServerAddress(fingerprint: $0, hosts: [host])
            }
        }
        return known
    }()

    static let fingerprints: [(host: String, fingerprint: String)] = [
        ("smp8.simplex.im", "0YuTwO05YJWS8rkjn9eLJDjQhFKvIYd8d4xG8X1blIU="),
        ("smp9.simplex.im", "SkIkI6EPd2D63F4xFKfHk7I1UGZVNn6k1QWZ5rcyr6w="),
        ("smp10.simplex.im", "6iIcWT_dF2zN_w5xzZEY7HI2Prbh3ldP07YTyDexPjE="),
        ("smp11.simplex.im", "1OwYGt-yqOfe2IyVHhxz3ohqo3aCCMjtB-8wn4X_aoY="),
        ("smp12.simplex.im", "UkMFNAXLXeAAe0beCa4w6X_zp18PwxSaSjY17BKUGXQ="),
        ("smp14.simplex.im", "enEkec4hlR3UtKx2NMpOUK_K4ZuDxjWBO1d9Y4YXVaA="),
        ("smp15.simplex.im", "h--vW7ZSkXPeOUpfxlFGgauQmXNFOzGoizak7Ult7cw="),
        ("smp16.simplex.im", "hejn2gVIqNU6xjtGM3OwQeuk8ZEbDXVJXAlnSBJBWUA="),
        ("smp17.simplex.im", "ZKe4uxF4Z_aLJJOEsC-Y6hSkXgQS5-oc442JQGkyP8M="),
        ("smp18.simplex.im", "PtsqghzQKU83kYTlQ1VKg996dW4Cw4x_bvpKmiv8uns="),
        ("smp19.simplex.im", "N_McQS3F9TGoh4ER0QstUf55kGnNSd-wXfNPZ7HukcM="),
        ("smp4.simplex.im", "u2dS9sG8nMNURyZwqASV4yROM28Er0luVTx5X1CsMrU="),
        ("smp5.simplex.im", "hpq7_4gGJiilmz5Rf-CswuU5kZGkm_zOIooSw6yALRg="),
        ("smp6.simplex.im", "PQUV2eL0t7OStZOoAsPEV2QYWt4-xilbakvGUGOItUo="),
        ("smp7.simplex.im", "8Af90NX2TTkKEJAF1RCg69P_Odg2Z-6_J6DOKUqK3rQ="),
        ("smp1.simplexonflux.com", "xQW_ufMkGE20UrTlBl8QqceG1tbuylXhr9VOLPyRJmw="),
        ("smp2.simplexonflux.com", "LDnWZVlAUInmjmdpQQoIo6FUinRXGe0q3zi5okXDE4s="),
        ("smp3.simplexonflux.com", "1jne379u7IDJSxAvXbWb_JgoE7iabcslX0LBF22Rej0="),
        ("smp4.simplexonflux.com", "xmAmqj75I9mWrUihLUlI0ZuNLXlIwFIlHRq5Pb6cHAU="),
        ("smp5.simplexonflux.com", "rWvBYyTamuRCBYb_KAn-nsejg879ndhiTg5Sq3k0xWA="),
        ("smp6.simplexonflux.com", "PN7-uqLBToqlf1NxHEaiL35lV2vBpXq8Nj8BW11bU48="),
    ]
}
