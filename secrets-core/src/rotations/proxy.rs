//! Validation of proxy function settings.

use crate::crypto::Plaintext;
use crate::model::{FieldError, ValidationRule, Violation};
use crate::ports::rotator::Proxy;

const LAMBDA_ARN: ValidationRule = ValidationRule::of(
    "must be the ARN of an AWS Lambda function, such as arn:aws:lambda:eu-central-1:123456789012:function:rotate, optionally with a version or alias",
);
const REGION: ValidationRule = ValidationRule::of("must be an AWS region, such as eu-central-1");
const OTHER_REGION: ValidationRule = ValidationRule::of("must be the region in lambda_arn");
const SHARED_SECRET: ValidationRule = ValidationRule::of(
    "must be 32 to 512 visible ASCII characters: a random text that the function also knows",
);

/// AWS regions that are accepted (from the partitions of the AWS SDK 1.156, including the isolated
/// partitions). The region becomes part of a host name, so no other string is accepted.
const REGIONS: &[&str] = &[
    "af-south-1",
    "ap-east-1",
    "ap-east-2",
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
    "ap-south-1",
    "ap-south-2",
    "ap-southeast-1",
    "ap-southeast-2",
    "ap-southeast-3",
    "ap-southeast-4",
    "ap-southeast-5",
    "ap-southeast-6",
    "ap-southeast-7",
    "ca-central-1",
    "ca-west-1",
    "cn-north-1",
    "cn-northwest-1",
    "eu-central-1",
    "eu-central-2",
    "eu-isoe-west-1",
    "eu-north-1",
    "eu-south-1",
    "eu-south-2",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "eusc-de-east-1",
    "il-central-1",
    "me-central-1",
    "me-south-1",
    "mx-central-1",
    "sa-east-1",
    "us-east-1",
    "us-east-2",
    "us-gov-east-1",
    "us-gov-west-1",
    "us-iso-east-1",
    "us-iso-west-1",
    "us-isob-east-1",
    "us-isob-west-1",
    "us-isof-east-1",
    "us-isof-south-1",
    "us-west-1",
    "us-west-2",
];

impl Proxy {
    /// Validates the settings of a proxy function. On failure, returns one error per invalid field,
    /// with field names that begin with `proxy.`.
    pub fn parse(
        lambda_arn: String,
        region: String,
        shared_secret: Plaintext,
    ) -> Result<Self, Vec<FieldError>> {
        let checks = [
            (arn_rule(&lambda_arn), "proxy.lambda_arn"),
            (region_rule(&region, &lambda_arn), "proxy.region"),
            (secret_rule(shared_secret.reveal()), "proxy.shared_secret"),
        ];
        let errors: Vec<FieldError> = checks
            .into_iter()
            .filter_map(|(checked, field)| checked.err().map(|broken| broken.at(field)))
            .collect();
        if errors.is_empty() { Ok(Self { lambda_arn, region, shared_secret }) } else { Err(errors) }
    }
}

fn arn_rule(text: &str) -> Result<(), Violation> {
    region_of(text).map(|_| ()).ok_or(LAMBDA_ARN.violation())
}

fn region_rule(text: &str, arn: &str) -> Result<(), Violation> {
    if !REGIONS.contains(&text) {
        return Err(REGION.violation());
    }
    // An invalid ARN is reported once, without a second error about its region.
    if region_of(arn).is_none_or(|region| region == text) {
        Ok(())
    } else {
        Err(OTHER_REGION.violation())
    }
}

fn secret_rule(text: &str) -> Result<(), Violation> {
    let fits = (32..=512).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    if fits { Ok(()) } else { Err(SHARED_SECRET.violation()) }
}

/// Returns the region in the ARN of a Lambda function; `None` if the ARN does not match
/// `^arn:aws[a-z-]*:lambda:([a-z0-9-]+):\d{12}:function:[A-Za-z0-9_-]{1,64}(:[A-Za-z0-9_$-]{1,128})?$`.
fn region_of(arn: &str) -> Option<&str> {
    let mut parts = arn.split(':');
    let mut next = |fits: fn(&str) -> bool| parts.next().filter(|part| fits(part));
    next(|part| part == "arn")?;
    next(|part| {
        let rest = part.strip_prefix("aws");
        rest.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'))
    })?;
    next(|part| part == "lambda")?;
    let region = next(|part| {
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    })?;
    next(|part| part.len() == 12 && part.bytes().all(|b| b.is_ascii_digit()))?;
    next(|part| part == "function")?;
    next(|part| (1..=64).contains(&part.len()) && part.bytes().all(is_name_byte))?;
    let qualifier = |part: &str| {
        (1..=128).contains(&part.len()) && part.bytes().all(|b| is_name_byte(b) || b == b'$')
    };
    (parts.next().is_none_or(qualifier) && parts.next().is_none()).then_some(region)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARN: &str = "arn:aws:lambda:eu-central-1:123456789012:function:rotate";
    const SECRET: &str = "kvc_0123456789abcdefghijklmnopqrstuvwxyz";

    fn broken(arn: &str, region: &str, secret: &str) -> Vec<String> {
        let secret = Plaintext::new(secret.to_owned()).unwrap();
        let parsed = Proxy::parse(arn.to_owned(), region.to_owned(), secret);
        parsed.err().unwrap_or_default().into_iter().map(|error| error.field).collect()
    }

    #[test]
    fn a_function_is_named_by_its_arn_with_a_version_or_an_alias_or_none() {
        let long = format!("{ARN}:{}", "a".repeat(128));
        for (arn, region) in [
            (ARN, "eu-central-1"),
            (&format!("{ARN}:$LATEST"), "eu-central-1"),
            (&format!("{ARN}:live"), "eu-central-1"),
            (&long, "eu-central-1"),
            ("arn:aws-cn:lambda:cn-north-1:123456789012:function:a_B-9", "cn-north-1"),
            ("arn:aws-us-gov:lambda:us-gov-west-1:123456789012:function:r", "us-gov-west-1"),
        ] {
            assert_eq!(broken(arn, region, SECRET), [""; 0], "{arn}");
        }
    }

    #[test]
    fn an_invalid_function_arn_is_refused() {
        let (name, qualifier) = ("n".repeat(65), "q".repeat(129));
        for arn in [
            "",
            "rotate",
            "arn:aws:s3:eu-central-1:123456789012:function:rotate",
            "arn:gcp:lambda:eu-central-1:123456789012:function:rotate",
            "arn:awsX:lambda:eu-central-1:123456789012:function:rotate",
            "arn:aws:lambda::123456789012:function:rotate",
            "arn:aws:lambda:eu-central-1:12345678901:function:rotate",
            "arn:aws:lambda:eu-central-1:\u{661}23456789012:function:rotate",
            "arn:aws:lambda:eu-central-1:123456789012:layer:rotate",
            "arn:aws:lambda:eu-central-1:123456789012:function:",
            "arn:aws:lambda:eu-central-1:123456789012:function:a b",
            "arn:aws:lambda:eu-central-1:123456789012:function:../x",
            &format!("arn:aws:lambda:eu-central-1:123456789012:function:{name}"),
            &format!("{ARN}:"),
            &format!("{ARN}:{qualifier}"),
            &format!("{ARN}:live:more"),
            &format!("{ARN}\n"),
            &format!(" {ARN}"),
        ] {
            assert_eq!(broken(arn, "eu-central-1", SECRET), ["proxy.lambda_arn"], "{arn}");
        }
    }

    #[test]
    fn a_region_is_one_of_those_there_are_and_the_arn_names_it_too() {
        for region in ["", "us-east-1", "x.evil.example/", "eu-central-9", "EU-CENTRAL-1"] {
            assert_eq!(broken(ARN, region, SECRET), ["proxy.region"], "{region}");
        }
        let arn = "arn:aws:lambda:evil-1:123456789012:function:rotate";
        assert_eq!(broken(arn, "evil-1", SECRET), ["proxy.region"]);
    }

    #[test]
    fn a_shared_secret_is_long_enough_and_survives_a_variable() {
        for secret in [
            "kvc_0123456789abcdefghijklmnopq",
            "kvc_0123456789 bcdefghijklmnopqrstuvwxyz",
            "kvc_0123456789abcdefghijklmnopqrstuvwxyz\n",
            "kvc_0123456789äbcdefghijklmnopqrstuvwxyz",
            &"k".repeat(513),
        ] {
            assert_eq!(broken(ARN, "eu-central-1", secret), ["proxy.shared_secret"]);
        }
        assert_eq!(broken(ARN, "eu-central-1", &SECRET[..32]), [""; 0]);
    }

    #[test]
    fn every_field_that_breaks_a_rule_is_named_at_once() {
        let fields = broken("x", "y", "kvc_short");

        assert_eq!(fields, ["proxy.lambda_arn", "proxy.region", "proxy.shared_secret"]);
    }
}
