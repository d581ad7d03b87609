CREATE TABLE `yourls_url` (`keyword` varchar(100), `url` text, `title` text, `timestamp` timestamp, `ip` varchar(41), `clicks` int);
INSERT INTO `yourls_url` VALUES
('q7','https://tea.example/oolong','Oolong','2019-05-06 18:30:00','192.0.2.44',9),
('Q7','https://tea.example/sencha','It\'s green','2019-05-07 08:00:00','',1);
CREATE TABLE `yourls_log` (`click_id` int, `click_time` datetime, `shorturl` varchar(100), `referrer` varchar(200), `user_agent` varchar(255), `ip_address` varchar(41), `country_code` char(2));
INSERT INTO `yourls_log` VALUES
(1,'2019-05-07 09:12:00','q7','direct','Mozilla/5.0 (X11; Linux x86_64) Firefox/128.0','192.0.2.45','AT');
