//! The operators' token: `admin.token` in the data folder (mode 0600). Who can read that file is an operator.

use std::path::Path;

use zeroize::Zeroizing;

use crate::secrets::{SecretError, SecretText, new_key_text, private_file};

/// Its name in the data folder.
pub const TOKEN_FILE: &str = "admin.token";

/// A shorter one was not made by us: an empty file must not open the door.
const TOKEN_CHARS_MIN: usize = 32;

/// The token of this data folder, made at the first start. Delete the file and start again for a new one.
pub fn load_or_create(data_dir: &Path) -> Result<SecretText, SecretError> {
    if let Some(token) = find(data_dir)? {
        return Ok(token);
    }
    let random = new_key_text()?;
    let token = Zeroizing::new(format!("ta_{}", random.as_str()));
    private_file::create(&data_dir.join(TOKEN_FILE), &format!("{}\n", token.as_str()))?;
    Ok(SecretText::new(token.as_str().to_owned()))
}

/// The token, or `None` where no host has made one yet.
pub fn find(data_dir: &Path) -> Result<Option<SecretText>, SecretError> {
    let text = private_file::read(&data_dir.join(TOKEN_FILE))?;
    let token = text.as_ref().map(|text| text.trim()).filter(|token| token.len() >= TOKEN_CHARS_MIN);
    Ok(token.map(|token| SecretText::new(token.to_owned())))
}
