import COpenSSL

/// What OpenSSL last complained about on this thread, in its own words, and a clean slate after.
func takeOpenSSLReason() -> String {
    let code = ERR_peek_last_error()
    ERR_clear_error()
    guard code != 0, let text = ERR_reason_error_string(code) else { return "no reason given" }
    return String(cString: text)
}
