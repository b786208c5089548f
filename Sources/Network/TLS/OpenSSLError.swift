import COpenSSL

/// Returns OpenSSL's last error on this thread in its own words, and clears the error queue.
func takeOpenSSLReason() -> String {
    let code = ERR_peek_last_error()
    ERR_clear_error()
    guard code != 0, let text = ERR_reason_error_string(code) else { return "no reason given" }
    return String(cString: text)
}
