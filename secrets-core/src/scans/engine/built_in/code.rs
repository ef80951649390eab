//! Where code and packages are kept, built and looked after.

use super::super::rule::Severity::{High, Medium};
use super::Form::Written;
use super::{Definition, token};

pub(super) static ALL: [Definition; 34] = [
    token("github-personal-access-token", "GitHub personal access token", High, "ghp_[0-9A-Za-z]{36}", &["ghp_"]),
    token("github-fine-grained-token", "GitHub fine-grained personal access token", High, "github_pat_[0-9A-Za-z]{22}_[0-9A-Za-z]{59}", &["github_pat_"]),
    token("github-oauth-token", "GitHub OAuth access token", High, "gho_[0-9A-Za-z]{36}", &["gho_"]),
    token("github-user-token", "GitHub app user token", High, "ghu_[0-9A-Za-z]{36}", &["ghu_"]),
    token("github-server-token", "GitHub app installation token", High, "ghs_[0-9A-Za-z]{36}", &["ghs_"]),
    token("github-refresh-token", "GitHub refresh token", High, "ghr_[0-9A-Za-z]{36,76}", &["ghr_"]),
    token("gitlab-personal-access-token", "GitLab personal access token", High, r"glpat-[0-9A-Za-z_\-]{20}(?:[0-9A-Za-z_.\-]{0,280})", &["glpat-"]),
    token("gitlab-deploy-token", "GitLab deploy token", High, r"gldt-[0-9A-Za-z_\-]{20}", &["gldt-"]),
    token("gitlab-runner-token", "GitLab runner token", High, r"glrt-(?:t[0-9]_)?[0-9A-Za-z_\-]{20}", &["glrt-"]),
    token("gitlab-job-token", "GitLab CI job token", Medium, r"glcbt-[0-9A-Za-z]{1,5}_[0-9A-Za-z_\-]{20}", &["glcbt-"]),
    token("gitlab-trigger-token", "GitLab pipeline trigger token", High, "glptt-[0-9a-f]{40}", &["glptt-"]),
    token("gitlab-feed-token", "GitLab feed token", Medium, r"glft-[0-9A-Za-z_\-]{20}", &["glft-"]),
    token("gitlab-oauth-secret", "GitLab OAuth application secret", High, "gloas-[0-9a-f]{64}", &["gloas-"]),
    token("gitlab-agent-token", "GitLab agent for Kubernetes token", High, r"glagent-[0-9A-Za-z_\-]{50}", &["glagent-"]),
    token("atlassian-api-token", "Atlassian API token", High, r"ATATT3[0-9A-Za-z_=\-]{100,250}", &["atatt3"]),
    token("bitbucket-app-password", "Bitbucket app password", High, "ATBB[0-9A-Za-z]{32}", &["atbb"]),
    token("bitbucket-access-token", "Bitbucket access token", High, r"ATCTT3[0-9A-Za-z_=\-]{100,250}", &["atctt3"]),
    token("npm-access-token", "npm access token", High, "npm_[0-9A-Za-z]{36}", &["npm_"]),
    token("npm-registry-token", "Token of an npm registry", High, "", &["_authtoken"])
        .form(Written(r#"(?i::_authToken)[ \t]*=[ \t]*["']?([0-9A-Za-z_/+=.\-]{20,200})"#)),
    token("pypi-token", "PyPI upload token", High, r"pypi-(?:AgEIcHlwaS5vcmc|AgENdGVzdC5weXBpLm9yZ)[0-9A-Za-z_\-]{50,1000}", &["pypi-age"]),
    token("crates-io-token", "crates.io API token", High, "cio[0-9A-Za-z]{32}", &["cio"]).entropy(3.5),
    token("rubygems-key", "RubyGems API key", High, "rubygems_[0-9a-f]{48}", &["rubygems_"]),
    token("nuget-key", "NuGet API key", High, "oy2[0-9a-z]{43}", &["oy2"]),
    token("docker-hub-token", "Docker Hub access token", High, r"dckr_(?:pat|oat)_[0-9A-Za-z_\-]{27,32}", &["dckr_"]),
    token("jfrog-api-key", "JFrog API key", High, "AKCp[0-9A-Za-z]{69}", &["akcp"]),
    token("jfrog-reference-token", "JFrog reference token", High, "cmVmd[0-9A-Za-z]{59}", &["cmvmd"]),
    token("sonar-token", "SonarQube token", High, "sq[apu]_[0-9a-f]{40}", &["sqa_", "sqp_", "squ_"]),
    token("buildkite-token", "Buildkite access token", High, "bk(?:ua|ct)_[0-9a-f]{40}", &["bkua_", "bkct_"]),
    token("circleci-token", "CircleCI token", High, "CCI(?:PAT|PRJ)_[0-9A-Za-z]{22}_[0-9a-f]{40}", &["ccipat_", "cciprj_"]),
    token("sentry-org-token", "Sentry organization token", High, r"sntrys_eyJ[0-9A-Za-z+/_=\-]{80,400}", &["sntrys_"]),
    token("sentry-user-token", "Sentry user token", High, "sntryu_[0-9a-f]{64}", &["sntryu_"]),
    token("postman-api-key", "Postman API key", High, "PMAK-[0-9a-f]{24}-[0-9a-f]{34}", &["pmak-"]),
    token("onepassword-service-token", "1Password service account token", High, "ops_eyJ[0-9A-Za-z+/]{200,2000}={0,3}", &["ops_eyj"]),
    token("age-secret-key", "age secret key", High, "AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}", &["age-secret-key-1"]),
];
